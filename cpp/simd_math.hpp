// Eight-lane arithmetic and the elementary functions of the kernel.
//
// Everything here is compiled once per instruction set inside namespace PARETOCUT_ISA. A vector is
// always eight doubles, held in one, two or four registers of PARETOCUT_LANES lanes. Together with
// -ffp-contract=off this makes every result the same to the last bit on every machine, since the
// order of additions never depends on the hardware.
//
// log1p_pos is within 2.5 ulp of the exact value (the worst is near 0.415, where 1 + x has lost a
// bit of x), exp_neg within 1.25 (tests/test_kernel.py measures both). Their polynomials are
// Chebyshev fits made for this file.
#pragma once

#include <cstdint>

#if !defined(PARETOCUT_ISA) || !defined(PARETOCUT_LANES)
#error "compile through CMake, which sets PARETOCUT_ISA and PARETOCUT_LANES"
#endif

#define PARETOCUT_INLINE inline __attribute__((always_inline))

namespace paretocut::PARETOCUT_ISA {

constexpr int kLanes = 8;
constexpr int kParts = kLanes / PARETOCUT_LANES;

typedef double Part __attribute__((vector_size(8 * PARETOCUT_LANES)));
typedef std::int64_t IntPart __attribute__((vector_size(8 * PARETOCUT_LANES)));
typedef std::uint64_t UIntPart __attribute__((vector_size(8 * PARETOCUT_LANES)));

struct Vec {
    Part part[kParts];
};

struct Int {
    IntPart part[kParts];
};

PARETOCUT_INLINE Vec splat(double x) {
    Vec v;
    for (int i = 0; i < kParts; ++i) v.part[i] = Part{} + x;
    return v;
}

PARETOCUT_INLINE Int splat_int(std::int64_t x) {
    Int v;
    for (int i = 0; i < kParts; ++i) v.part[i] = IntPart{} + x;
    return v;
}

// Elementwise operators, between vectors and between a vector and a number.
#define PARETOCUT_OPERATOR(Type, Scalar, splat_scalar, op)                               \
    PARETOCUT_INLINE Type operator op(Type a, Type b) {                                  \
        Type c;                                                                          \
        for (int i = 0; i < kParts; ++i) c.part[i] = a.part[i] op b.part[i];             \
        return c;                                                                        \
    }                                                                                    \
    PARETOCUT_INLINE Type operator op(Type a, Scalar b) { return a op splat_scalar(b); } \
    PARETOCUT_INLINE Type operator op(Scalar a, Type b) { return splat_scalar(a) op b; }

PARETOCUT_OPERATOR(Vec, double, splat, +)
PARETOCUT_OPERATOR(Vec, double, splat, -)
PARETOCUT_OPERATOR(Vec, double, splat, *)
PARETOCUT_OPERATOR(Vec, double, splat, /)
PARETOCUT_OPERATOR(Int, std::int64_t, splat_int, +)
PARETOCUT_OPERATOR(Int, std::int64_t, splat_int, -)
PARETOCUT_OPERATOR(Int, std::int64_t, splat_int, &)
PARETOCUT_OPERATOR(Int, std::int64_t, splat_int, |)
#undef PARETOCUT_OPERATOR

// Comparisons give a mask: all bits of a lane set, or none.
PARETOCUT_INLINE Int operator<(Vec a, Vec b) {
    Int c;
    for (int i = 0; i < kParts; ++i) c.part[i] = a.part[i] < b.part[i];
    return c;
}

PARETOCUT_INLINE Int operator==(Int a, Int b) {
    Int c;
    for (int i = 0; i < kParts; ++i) c.part[i] = a.part[i] == b.part[i];
    return c;
}

// a where the mask is set, b elsewhere.
PARETOCUT_INLINE Vec select(Int mask, Vec a, Vec b) {
    Vec c;
    for (int i = 0; i < kParts; ++i) c.part[i] = mask.part[i] ? a.part[i] : b.part[i];
    return c;
}

// Whether a mask is set in any lane, or in all.
PARETOCUT_INLINE bool any_of(Int mask) {
    IntPart found = mask.part[0];
    for (int i = 1; i < kParts; ++i) found |= mask.part[i];
    std::int64_t any = 0;
    for (int i = 0; i < PARETOCUT_LANES; ++i) any |= found[i];
    return any != 0;
}

PARETOCUT_INLINE bool all_of(Int mask) {
    IntPart found = mask.part[0];
    for (int i = 1; i < kParts; ++i) found &= mask.part[i];
    std::int64_t all = -1;
    for (int i = 0; i < PARETOCUT_LANES; ++i) all &= found[i];
    return all != 0;
}

PARETOCUT_INLINE Int bits(Vec v) {
    Int b;
    for (int i = 0; i < kParts; ++i) b.part[i] = (IntPart)v.part[i];
    return b;
}

PARETOCUT_INLINE Vec from_bits(Int v) {
    Vec b;
    for (int i = 0; i < kParts; ++i) b.part[i] = (Part)v.part[i];
    return b;
}

PARETOCUT_INLINE Int shift_right_52(Int v) {
    Int s;
    for (int i = 0; i < kParts; ++i) s.part[i] = (IntPart)((UIntPart)v.part[i] >> 52);
    return s;
}

PARETOCUT_INLINE Int shift_left_52(Int v) {
    Int s;
    for (int i = 0; i < kParts; ++i) s.part[i] = v.part[i] << 52;
    return s;
}

// A register in memory: at any double, whatever its alignment.
typedef Part UnalignedPart __attribute__((aligned(8), may_alias));

PARETOCUT_INLINE Vec load(const double* p) {
    Vec v;
    for (int i = 0; i < kParts; ++i) {
        v.part[i] = *reinterpret_cast<const UnalignedPart*>(p + i * PARETOCUT_LANES);
    }
    return v;
}

PARETOCUT_INLINE void store(double* p, Vec v) {
    for (int i = 0; i < kParts; ++i) {
        *reinterpret_cast<UnalignedPart*>(p + i * PARETOCUT_LANES) = v.part[i];
    }
}

PARETOCUT_INLINE Vec lane_numbers() {
    const double numbers[kLanes] = {0, 1, 2, 3, 4, 5, 6, 7};
    return load(numbers);
}

// The mask of the first `count` lanes.
PARETOCUT_INLINE Int first_lanes(std::int64_t count) {
    return lane_numbers() < splat(static_cast<double>(count));
}

PARETOCUT_INLINE double sum(Vec v) {
    double x[kLanes];
    store(x, v);
    return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

// Small integers (|i| < 2^51) to doubles without a hardware conversion.
PARETOCUT_INLINE Vec to_double(Int i) {
    const Vec magic = splat(6755399441055744.0);  // 1.5 * 2^52
    return from_bits(i + bits(magic)) - magic;
}

constexpr double kLn2Hi = 0x1.62e42fee00000p-1;
constexpr double kLn2Lo = 0x1.a39ef35793c76p-33;
constexpr std::int64_t kOneBits = 0x3ff0000000000000;
constexpr std::int64_t kSqrtHalfBits = 0x3fe6a09e667f3bcd;
constexpr std::int64_t kMantissa = 0x000fffffffffffff;

// x = 2^exponent * mantissa with mantissa in [1, 2), for positive normal x.
PARETOCUT_INLINE Int exponent_of(Vec x) { return shift_right_52(bits(x)) - 1023; }
PARETOCUT_INLINE Vec mantissa_of(Vec x) { return from_bits((bits(x) & kMantissa) | kOneBits); }

// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)), plus exponent * log 2.
PARETOCUT_INLINE Vec log_reduced(Vec f, Vec exponent) {
    const Vec s = f / (2.0 + f);
    const Vec z = s * s;
    const Vec w = z * z;
    const Vec odd = 0x1.99999999952e2p-2 + w * (0x1.c71c62e5800a1p-3 + w * 0x1.39fe606542ddep-3);
    const Vec even =
        0x1.5555555555558p-1 +
        w * (0x1.2492492df148dp-2 + w * (0x1.7462b4ab2ef6bp-3 + w * 0x1.2b584aae78a57p-3));
    const Vec r = z * (even + z * odd);
    const Vec half = 0.5 * f * f;
    return exponent * kLn2Hi + (f - (half - (s * (half + r) + exponent * kLn2Lo)));
}

// log(1 + x) for x >= 0 and finite.
PARETOCUT_INLINE Vec log1p_pos(Vec x) {
    const Vec u = 1.0 + x;
    const Int shifted = bits(u) + (kOneBits - kSqrtHalfBits);
    const Int exponent = shift_right_52(shifted) - 1023;
    const Vec m = from_bits((shifted & kMantissa) + kSqrtHalfBits);
    // Where u needs no scaling, x itself is the exact argument and u has lost some of its digits.
    const Vec f = select(exponent == splat_int(0), x, m - 1.0);
    return log_reduced(f, to_double(exponent));
}

// log(x) for positive normal x.
PARETOCUT_INLINE Vec log_pos(Vec x) {
    const Int shifted = bits(x) + (kOneBits - kSqrtHalfBits);
    const Int exponent = shift_right_52(shifted) - 1023;
    const Vec m = from_bits((shifted & kMantissa) + kSqrtHalfBits);
    return log_reduced(m - 1.0, to_double(exponent));
}

// exp(-y) for y >= 0; arguments beyond 708 count as 708, where exp is 3e-308.
PARETOCUT_INLINE Vec exp_neg(Vec y) {
    const Vec limit = splat(708.0);
    const Vec x = 0.0 - select(y < limit, y, limit);
    const Vec magic = splat(6755399441055744.0);
    const Vec shifted = x * 0x1.71547652b82fep+0 + magic;
    const Vec n = shifted - magic;
    const Vec r = (x - n * kLn2Hi) - n * kLn2Lo;
    const Vec r2 = r * r;
    const Vec p01 = 0x1.0000000000001p-1 + r * 0x1.5555555555556p-3;
    const Vec p23 = 0x1.5555555553b6cp-5 + r * 0x1.1111111110918p-7;
    const Vec p45 = 0x1.6c16c1794e1dcp-10 + r * 0x1.a01a01a83ba17p-13;
    const Vec p67 = 0x1.a019b621f9d08p-16 + r * 0x1.71de0be2b5e96p-19;
    const Vec p89 = 0x1.2894f52583578p-22 + r * 0x1.af3ce42b12b24p-26;
    const Vec p = p01 + r2 * (p23 + r2 * (p45 + r2 * (p67 + r2 * p89)));
    const Vec mantissa = 1.0 + (r + r2 * p);
    return from_bits(bits(mantissa) + shift_left_52(bits(shifted) - bits(magic)));
}

// The largest power of two that is no larger than a positive normal number.
PARETOCUT_INLINE double power_below(double x) {
    double power[kLanes];
    store(power, x / mantissa_of(splat(x)));
    return power[0];
}

// log(x) of one positive normal number.
PARETOCUT_INLINE double log_of(double x) {
    double log[kLanes];
    store(log, log_pos(splat(x)));
    return log[0];
}

// exp(x) of one number, which counts as 708 beyond that either way.
PARETOCUT_INLINE double exp_of(double x) {
    double power[kLanes];
    store(power, exp_neg(splat(x < 0.0 ? -x : x)));
    return x < 0.0 ? power[0] : 1.0 / power[0];
}

}  // namespace paretocut::PARETOCUT_ISA
