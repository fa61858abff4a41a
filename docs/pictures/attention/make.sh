#!/bin/sh
# Draws the layouts of docs/attention.md: make.sh WARPFOLD FOLDER. A test draws them again and compares. Its plots are drawn by
# bench/plots/attention.py.
set -eu
tool=$1
cd "$2"
"$tool" layout draw "((4,8),(2,2,2)):((32,1),(16,8,128))" --threads-on "(16,16)" --svg scores.svg
"$tool" layout draw "(8,(8,2)):(8,(1,64))" --colour tile --svg values_in.svg
"$tool" layout draw "((8,2),8):((1,64),8)" --colour tile --svg values_operand.svg
