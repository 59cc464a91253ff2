// The smallest test framework that will do: CHECK counts, TEST registers, main reports.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace check {

struct Case {
    const char* name;
    std::function<void()> body;
};

// Every TEST of the program, in the order of definition within a file.
inline std::vector<Case>& cases() {
    static std::vector<Case> all;
    return all;
}

struct Registration {
    Registration(const char* name, std::function<void()> body) {
        cases().push_back({name, std::move(body)});
    }
};

// Records that an expectation of the running case was not met, and prints it.
void fail(const char* file, int line, const std::string& what);

}  // namespace check

#define TEST(name)                                                   \
    static void name();                                              \
    static const check::Registration registered_##name(#name, name); \
    static void name()

#define CHECK(condition)                                               \
    do {                                                               \
        if (!(condition)) check::fail(__FILE__, __LINE__, #condition); \
    } while (false)
