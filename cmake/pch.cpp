// The home of the precompiled headers; see CMakeLists.txt.
