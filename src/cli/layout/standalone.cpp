// The layout tool by itself.
#include "cli/layout/layout.h"

int main(int argc, char** argv) { return warpfold::cli::layout_main(argc, argv); }
