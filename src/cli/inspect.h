// `warpfold inspect FILE [--json]`: what is in a model file.
#pragma once

namespace warpfold::cli {

// argv[0] is the command's name. Report on stdout, errors on stderr.
// Returns 0, 1 when the file cannot be read, 2 for wrong usage.
int inspect_main(int argc, char** argv);

}  // namespace warpfold::cli
