# Warnings and sanitizers for our own targets; third-party headers are included as system headers.
function(veneer_flags target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Werror
    # g++ 12 sees overlapping copies inside std::string's operator+ (GCC bug 105651) and values of a std::variant that
    # were never set (GCC bug 80635) where there are none.
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    $<$<NOT:$<TARGET_EXISTS:OpenMP::OpenMP_CXX>>:-Wno-unknown-pragmas>)
  if(VENEER_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${VENEER_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${VENEER_SANITIZE})
  endif()
endfunction()
