# cmake -DOUT= -DROOT= -DPATTERNS= -DHEADER= -DTYPE= -DFUNCTION= -P: what divvy_embed() (Divvy.cmake) generates.
list(TRANSFORM PATTERNS PREPEND ${ROOT}/)
file(GLOB files RELATIVE ${ROOT} ${PATTERNS})
string(
  REGEX REPLACE "::[^:]*$"
  ""
  namespace
  ${TYPE}
)
set(
  text
  "#include \"${HEADER}\"\n\nnamespace ${namespace} {\n\nconst std::vector<${TYPE}>& ${FUNCTION}() {\n  static const std::vector<${TYPE}> texts = {\n"
)
foreach(name ${files})
  file(READ ${ROOT}/${name} content)
  string(APPEND text "{\"${name}\", R\"DIVVY(${content})DIVVY\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace ${namespace}\n")
file(WRITE ${OUT} "${text}")
