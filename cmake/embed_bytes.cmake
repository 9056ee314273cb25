# Writes the bytes of a file as an initializer of C++: 0x0a,0x1b,...
#
# cmake -DFROM=file -DTO=file -P embed_bytes.cmake
file(READ ${FROM} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n"
                     bytes "${bytes}")
file(WRITE ${TO} "${bytes}\n")
