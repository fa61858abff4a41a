// Entry of `warpfold layout`: builds the sub-commands and turns a CommandError into a message and an exit code.
#include "cli/layout/layout.h"

#include <cstdio>

#include "cli/layout/common.h"
#include "cli/layout/hardware.h"

namespace warpfold::cli {

int layout_main(int argc, char** argv) {
  using namespace layout_tool;
  CLI::App app("Computes, explains, checks and draws layouts: (4,(2,3)):(3,(12,1))", "warpfold layout");
  app.require_subcommand(1);
  add_algebra_commands(app);
  add_explain_command(app);
  add_draw_command(app);
  add_batch_command(app);
  add_banks_command(app);
  add_tma_command(app);
  add_wgmma_command(app);
  add_chain_command(app);
  add_synthesise_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const CommandError& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return error.exit_code;
  }
  return 0;
}

}  // namespace warpfold::cli
