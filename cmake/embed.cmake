set(LIMITREE_EMBED_BYTES ${CMAKE_CURRENT_LIST_DIR}/embed_bytes.cmake)

# limitree_embed(<name.inc> <file> ...)
# Makes ${CMAKE_CURRENT_BINARY_DIR}/generated/<name.inc>, the bytes of the files
# as an initializer of C++.  List it among the sources of the library whose
# files include it.
function(limitree_embed name)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${generated})
  set(files)
  foreach(file IN LISTS ARGN)
    get_filename_component(file ${file} ABSOLUTE)
    list(APPEND files ${file})
  endforeach()
  list(JOIN files "|" from)
  add_custom_command(
    OUTPUT ${generated}/${name}
    COMMAND ${CMAKE_COMMAND} -DFROM=${from} -DTO=${generated}/${name} -P
            ${LIMITREE_EMBED_BYTES}
    DEPENDS ${files} ${LIMITREE_EMBED_BYTES}
    VERBATIM)
endfunction()
