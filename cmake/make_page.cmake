# Writes a page of HTML with style sheets and scripts in it, and with a policy
# that allows these, by hash, and nothing else.  Replaces @POLICY@, @STYLE@ and
# @SCRIPT@ of the page FROM.
#
# cmake -DFROM=page -DSTYLES=file|... -DSCRIPTS=file|... -DTO=file
#       -P make_page.cmake
function(read_files out)
  string(REPLACE "|" ";" files "${ARGN}")
  set(all "")
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(APPEND all "${text}")
  endforeach()
  set(${out} "${all}" PARENT_SCOPE)
endfunction()

# The SHA-256 of a text in base64: three digits of hexadecimal are two of
# base64, and of the last one, four bits are left.
function(hash_of out text)
  string(SHA256 hex "${text}")
  set(digits
      ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(base64 "")
  foreach(at RANGE 0 60 3)
    string(SUBSTRING ${hex} ${at} 3 three)
    math(EXPR high "0x${three} >> 6")
    math(EXPR low "0x${three} & 63")
    string(SUBSTRING ${digits} ${high} 1 high)
    string(SUBSTRING ${digits} ${low} 1 low)
    string(APPEND base64 ${high}${low})
  endforeach()
  string(SUBSTRING ${hex} 63 1 last)
  math(EXPR last "0x${last} << 2")
  string(SUBSTRING ${digits} ${last} 1 last)
  set(${out} "'sha256-${base64}${last}='" PARENT_SCOPE)
endfunction()

read_files(style "${STYLES}")
read_files(script "${SCRIPTS}")
hash_of(style_hash "${style}")
hash_of(script_hash "${script}")
string(CONCAT policy "default-src 'none'; style-src ${style_hash}; "
                     "script-src ${script_hash}; base-uri 'none'; "
                     "form-action 'none'")
file(READ ${FROM} page)
string(REPLACE "@POLICY@" "${policy}" page "${page}")
string(REPLACE "@STYLE@" "${style}" page "${page}")
string(REPLACE "@SCRIPT@" "${script}" page "${page}")
file(WRITE ${TO} "${page}")
