# stretto_method_rows(FILE NAME…): writes FILE, a source that lists the registry rows of the methods NAME…
# stretto_find_methods(VARIABLE): the names of all methods, one for each src/methods/NAME.cpp, which defines NAME_row.
set(STRETTO_METHOD_ROWS_IN ${CMAKE_CURRENT_LIST_DIR}/method_rows.cpp.in)
set(STRETTO_METHODS_DIR ${CMAKE_CURRENT_LIST_DIR}/../src/methods)

function(stretto_find_methods variable)
  file(GLOB sources CONFIGURE_DEPENDS ${STRETTO_METHODS_DIR}/*.cpp)
  set(names "")
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    file(STRINGS ${source} row REGEX "Method ${name}_row{")
    if(NOT row)
      message(FATAL_ERROR "${source}: defines no 'constinit const Method ${name}_row{…}'; what methods share has its place "
                          "in src/methods/parts")
    endif()
    list(APPEND names ${name})
  endforeach()
  set(${variable} ${names} PARENT_SCOPE)
endfunction()

function(stretto_method_rows file)
  set(declarations "")
  set(addresses "")
  foreach(name IN LISTS ARGN)
    string(APPEND declarations "extern const Method ${name}_row;\n")
    string(APPEND addresses "&${name}_row, ")
  endforeach()
  configure_file(${STRETTO_METHOD_ROWS_IN} ${file} @ONLY)
endfunction()
