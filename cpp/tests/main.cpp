// Runs the kernel's own tests; made to be run under sanitizers, useful without them.
#include <cstdio>
#include <string>

#include "check.hpp"

namespace {
int failures_in_case = 0;
}

void check::fail(const char* file, int line, const std::string& what) {
    constexpr int kPrinted = 5;  // a failing loop need not fill the screen
    if (++failures_in_case <= kPrinted) std::printf("%s:%d: %s\n", file, line, what.c_str());
}

int main() {
    int passed = 0, failed = 0;
    for (const check::Case& test : check::cases()) {
        failures_in_case = 0;
        test.body();
        std::printf("%-60s %s\n", test.name, failures_in_case == 0 ? "ok" : "FAILED");
        ++(failures_in_case == 0 ? passed : failed);
    }
    std::printf("%d passed, %d failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}
