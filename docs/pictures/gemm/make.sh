#!/bin/sh
# Draws the layouts of docs/gemm.md: make.sh WARPFOLD FOLDER. A test draws them again and compares.
set -eu
tool=$1
cd "$2"
"$tool" layout draw "((4,8),(2,2,2)):((32,1),(16,8,128))" --threads-on "(16,16)" --svg patch.svg
"$tool" layout draw "((4,2),6):((1,24),4)" --svg raster.svg
