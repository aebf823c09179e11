# cmake -DOUT= -DROOT= -P: a C++ source with the texts of all descriptors, ascending by name.
file(GLOB FILES ${ROOT}/vendors/*/vendor.yaml)
set(
  text
  "#include \"built_in_text.h\"\n\nnamespace divvy::vendors {\n\nconst std::vector<BuiltInText>& builtInTexts() {\n  static const std::vector<BuiltInText> texts = {\n"
)
foreach(file ${FILES})
  file(
    RELATIVE_PATH
    name
    ${ROOT}
    ${file}
  )
  file(READ ${file} content)
  string(APPEND text "{\"${name}\", R\"DIVVY(${content})DIVVY\"},\n")
endforeach()
string(APPEND text "  };\n  return texts;\n}\n\n}  // namespace divvy::vendors\n")
file(WRITE ${OUT} "${text}")
