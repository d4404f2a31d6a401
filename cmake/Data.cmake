# What the program reads at run time beside a user's model: the model that ships with it and the CLIP vocabulary
# (fetched by scripts/setup.sh). build/data holds both, and <build>/data leads there, so that a program finds them in
# `data` beside itself; an installed one finds them in share/veneer.
set(VENEER_DATA_DIR ${PROJECT_SOURCE_DIR}/build/data)
file(MAKE_DIRECTORY ${VENEER_DATA_DIR})
if(NOT EXISTS ${VENEER_DATA_DIR}/models)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/models ${VENEER_DATA_DIR}/models SYMBOLIC)
endif()
if(NOT EXISTS ${PROJECT_BINARY_DIR}/data)
  file(CREATE_LINK ${VENEER_DATA_DIR} ${PROJECT_BINARY_DIR}/data SYMBOLIC)
endif()

install(DIRECTORY models/emoji-v1 DESTINATION ${CMAKE_INSTALL_DATADIR}/veneer/models)
install(FILES models/NOTICE.txt models/README.md DESTINATION ${CMAKE_INSTALL_DATADIR}/veneer/models)
install(FILES ${VENEER_DATA_DIR}/bpe_simple_vocab_16e6.txt.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/veneer OPTIONAL)
