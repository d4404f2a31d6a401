// How long the threads of the OpenMP pool spin while they wait for each other.
#pragma once

namespace veneer::cli {

// libgomp lets them spin for more than ten milliseconds, and reads its settings before main(). While another program
// wants a processor, the thread that it took it from is then waited for at every barrier: a picture of half a second
// took thirty. With a short limit it takes half a second either way. Unless the user has a setting, the program sets
// one and starts itself anew; returns when there is nothing to do or that is not possible.
void limit_spinning(char** argv);

}  // namespace veneer::cli
