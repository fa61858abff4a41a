#!/bin/sh
# Draws the pictures of docs/layouts.md: make.sh WARPFOLD FOLDER. A test draws them again and compares.
set -eu
tool=$1
cd "$2"
"$tool" layout draw "(4,(2,3)):(3,(12,1))" --colour tile --svg function.svg
"$tool" layout draw "(4,8):(1,4)" --svg column_major.svg
"$tool" layout draw "(4,8):(8,1)" --svg row_major.svg
"$tool" layout draw "((4,2),(3,4)):((12,48),(1,3))" --colour tile --svg tiles.svg
"$tool" layout draw "((2,2,2),(3,2,2)):((12,24,48),(1,3,6))" --colour tile --svg nested.svg
"$tool" layout draw "((2,3),(5,4)):((5,10),(1,30))" --colour tile --svg blocked.svg
"$tool" layout draw "((4,8),(2,2)):((16,1),(8,64))" --threads-on "(8,16)" --svg threads.svg
"$tool" layout draw "(8,8):(8,1)" --colour bank --bytes 16 --svg banks_plain.svg
"$tool" layout draw "Sw<3,0,3> o (8,8):(8,1)" --colour bank --bytes 16 --svg banks_swizzled.svg
