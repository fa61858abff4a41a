# The front door; CMake presets do the work. Each target does its own set-up and may be run again.

MODEL ?= models/SmolLM2-135M-Instruct.Q4_1.gguf
PROMPT ?= Explain in two sentences why the sky is blue.
WARPFOLD := build/release/warpfold

.PHONY: help build demo test mutants models clean

help:
	@echo "make demo     set everything up, build, and generate text"
	@echo "make test     set everything up and run every test"
	@echo "make mutants  plant every known bug in the kernels and check that the tests catch it"
	@echo "make build    build $(WARPFOLD)"
	@echo "make models   fetch all models: MiniLM, Whisper base, Gemma 3 270M (this under its own terms of use)"
	@echo "make clean    remove what was built; models stay"

build:
	@scripts/setup.sh demo
	@test -f build/release/build.ninja || cmake --preset release -DWARPFOLD_TESTS=OFF
	@cmake --build build/release --target warpfold

demo: build
	@echo '$$ $(WARPFOLD) run $(MODEL) --chat -p "$(PROMPT)" --max-tokens 100'
	@$(WARPFOLD) run "$(MODEL)" --chat -p "$(PROMPT)" --max-tokens 100

test:
	@scripts/test.sh

mutants:
	@scripts/setup.sh test
	@cmake --preset release -DWARPFOLD_TESTS=ON >/dev/null
	@cmake --build build/release --target mutants

models:
	@scripts/setup.sh minilm
	@scripts/setup.sh whisper
	@scripts/setup.sh gemma

clean:
	rm -rf build
