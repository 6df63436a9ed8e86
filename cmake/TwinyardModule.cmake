# The precompiled headers are made with the options of the whole tree; a target with others cannot use them.
function(twinyard_reuse_pch target pch)
    if(TWINYARD_PCH)
        target_precompile_headers(${target} REUSE_FROM ${pch})
    endif()
endfunction()

# One call a folder: twinyard_module(store DEPS base) makes the static library twinyard_store from the folder's *.cpp,
# and the test binary store_test from its *_test.cpp. Sub-folders are modules of their own.
#   DEPS     modules that this module's headers or sources use (names of folders, '/' written as '_')
#   LIBS     libraries from outside, private to the sources
#   TEST_DEPS, TEST_LIBS   the same, for the tests alone
#   TEST_SUPPORT   sources that only tests use (testing.cpp): linked into the test binaries of this module
function(twinyard_module name)
    cmake_parse_arguments(ARG "" "" "DEPS;LIBS;TEST_DEPS;TEST_LIBS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS *.cpp)
    file(GLOB headers CONFIGURE_DEPENDS *.h)
    set(tests ${sources})
    list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
    list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")

    set(target twinyard_${name})
    set(deps ${ARG_DEPS})
    list(TRANSFORM deps PREPEND twinyard_)
    if(sources)
        add_library(${target} STATIC ${sources})
        target_link_libraries(${target} PUBLIC twinyard_options ${deps} PRIVATE ${ARG_LIBS})
        twinyard_reuse_pch(${target} twinyard_pch)
        target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${headers})
    else()
        add_library(${target} INTERFACE)
        target_link_libraries(${target} INTERFACE twinyard_options ${deps} ${ARG_LIBS})
    endif()

    if(tests)
        set(test_deps ${ARG_TEST_DEPS})
        list(TRANSFORM test_deps PREPEND twinyard_)
        add_executable(${name}_test ${tests})
        target_link_libraries(${name}_test PRIVATE ${target} ${test_deps} ${ARG_LIBS} ${ARG_TEST_LIBS}
            GTest::gmock GTest::gtest_main)
        twinyard_reuse_pch(${name}_test twinyard_test_pch)
        add_test(NAME ${name} COMMAND ${name}_test)
        set_tests_properties(${name} PROPERTIES TIMEOUT 300)
        # Nothing of these depends on the user who runs them: tools/test runs them once, not once a user.
        if(name MATCHES "^(base|model|api|sched|slurm|sim|.*_core)$")
            set_tests_properties(${name} PROPERTIES LABELS pure)
        endif()
    endif()
endfunction()

# twinyard_program(twinyard-agent SOURCE agent.cpp DEPS agent_shell os_linux): a main of apps/ into libexec/, where daemons
# and the verbs that `twinyard` executes live; with BIN into bin/.
function(twinyard_program name)
    cmake_parse_arguments(ARG "BIN" "SOURCE" "DEPS;LIBS" ${ARGN})
    set(deps ${ARG_DEPS})
    list(TRANSFORM deps PREPEND twinyard_)
    add_executable(${name} ${ARG_SOURCE})
    target_link_libraries(${name} PRIVATE ${deps} ${ARG_LIBS})
    set(folder libexec)
    if(ARG_BIN)
        set(folder bin)
    endif()
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()
