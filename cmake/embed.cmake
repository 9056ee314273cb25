# Turns a text into a C++ string literal, for a build step:
#   cmake -DFROM=decide.lua -DTO=decide.lua.inc -P embed.cmake
# to be used as
#   constexpr std::string_view kText =
#   #include "decide.lua.inc"
#       ;
file(READ ${FROM} text)
file(WRITE ${TO} "R\"embed(${text})embed\"\n")
