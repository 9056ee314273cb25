# Writes the bytes of files, one after the other, as an initializer of C++:
# 0x0a,0x1b,...  limitree_embed() of embed.cmake calls it.
#
# cmake -DFROM=file|file -DTO=file -P embed_bytes.cmake
string(REPLACE "|" ";" files "${FROM}")
set(all)
foreach(file IN LISTS files)
  file(READ ${file} bytes HEX)
  string(APPEND all "${bytes}")
endforeach()
string(REGEX REPLACE "(..)" "0x\\1," all "${all}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
                     all "${all}")
file(WRITE ${TO} "${all}\n")
