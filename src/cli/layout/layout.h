// `warpfold layout ...`: the layout algebra on the command line. One entry, so that the main program can dispatch.
// Exit code 0: an answer; 1: the operation is refused, with the reason; 2: the input is no layout, with the column.
#pragma once

namespace warpfold::cli {

int layout_main(int argc, char** argv);

}  // namespace warpfold::cli
