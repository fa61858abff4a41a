// The commands of `warpfold`. Each gets its own arguments with its name as argv[0], prints its result on
// stdout and everything else on stderr, and returns the exit code: 0 done, 1 error, 2 wrong usage.
#pragma once

namespace warpfold::cli {

int run_main(int argc, char** argv);
int chat_main(int argc, char** argv);
int embed_main(int argc, char** argv);
int translate_main(int argc, char** argv);
int transcribe_main(int argc, char** argv);
int explain_main(int argc, char** argv);
int tokenize_main(int argc, char** argv);
int perplexity_main(int argc, char** argv);
int bench_main(int argc, char** argv);
int doctor_main(int argc, char** argv);

}  // namespace warpfold::cli
