# Compiles one case of must_not_compile.cpp and checks that it fails for its reason; case 0 has to compile.
set(source "${ROOT}/tests/unit/redaction/must_not_compile.cpp")
execute_process(
  COMMAND "${COMPILER}" -std=c++20 -fsyntax-only "-I${ROOT}" "-DCASE=${CASE}" "${source}"
  RESULT_VARIABLE result ERROR_VARIABLE diagnostics OUTPUT_QUIET)

set(private "private")
set(conversion "could not convert|invalid initialization|no viable conversion|no matching function|no known conversion")
set(constraint "constraint")
set(reasons "none" "${conversion}" "${private}" "${constraint}" "${constraint}" "${conversion}" "${private}" "constant expression")
if(CASE EQUAL 0)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "the control does not compile:\n${diagnostics}")
  endif()
  return()
endif()
if(result EQUAL 0)
  message(FATAL_ERROR "case ${CASE} compiles, and must not")
endif()
list(GET reasons ${CASE} reason)
if(NOT diagnostics MATCHES "${reason}")
  message(FATAL_ERROR "case ${CASE} fails, but not for '${reason}':\n${diagnostics}")
endif()
