/* Tables of coefficients for AVX-512 (internal to avx512.h): powers of 2, and piecewise polynomials
 * of erf and tanh with 32 pieces each.
 *
 * The polynomials are minimax fits of the relative error. Coefficients were rounded to floats one
 * by one, lowest degree first; the rest were refitted after each. */
#ifndef HEED_TENSOR_KERNELS_AVX512_TABLES_H
#define HEED_TENSOR_KERNELS_AVX512_TABLES_H

/* 2^(i / 16), rounded, and the rounding errors. */
static const float roots_of_2[2][16] __attribute__((aligned(64))) = {
    {0x1p+0f, 0x1.0b5586p+0f, 0x1.172b84p+0f, 0x1.2387a6p+0f, 0x1.306fep+0f, 0x1.3dea64p+0f,
     0x1.4bfdaep+0f, 0x1.5ab07ep+0f, 0x1.6a09e6p+0f, 0x1.7a1148p+0f, 0x1.8ace54p+0f, 0x1.9c4918p+0f,
     0x1.ae89fap+0f, 0x1.c199bep+0f, 0x1.d5818ep+0f, 0x1.ea4afap+0f},
    {0x0p+0f, 0x1.9f3122p-25f, -0x1.c15742p-27f, 0x1.ceac48p-25f, 0x1.4636e2p-25f, 0x1.824684p-25f,
     -0x1.593abcp-25f, -0x1.5bd5ecp-27f, 0x1.9fcef4p-26f, -0x1.829fdp-25f, 0x1.15506ep-27f,
     0x1.51f848p-27f, -0x1.a94b14p-26f, -0x1.3d56b2p-27f, -0x1.822dbcp-27f, 0x1.52486cp-27f},
};

/* Coefficients of x^0 ... x^5 for 32 pieces. clang-format makes no columns if 0 is written as 0. */
typedef float pieces[6][32] __attribute__((aligned(64)));

/* Expansions around i / 8, for i from 0 to 31; the one around 0 omits the term x. */
static const pieces erf_pieces = {
    {-0x1p+0f,       0x1.1f5e1ap-3f, 0x1.1af54ep-2f, 0x1.9dd0d2p-2f, 0x1.0a7ef6p-1f, 0x1.3f196ep-1f,
     0x1.6c1c98p-1f, 0x1.91724ap-1f, 0x1.af767ap-1f, 0x1.c6dad2p-1f, 0x1.d8865ep-1f, 0x1.e5768cp-1f,
     0x1.eea556p-1f, 0x1.f4f694p-1f, 0x1.f92d08p-1f, 0x1.fbe61ep-1f, 0x1.fd9ae2p-1f, 0x1.fea422p-1f,
     0x1.ff4048p-1f, 0x1.ff996p-1f,  0x1.ffcaa8p-1f, 0x1.ffe514p-1f, 0x1.fff2dp-1f,  0x1.fff9bap-1f,
     0x1.fffd1ap-1f, 0x1.fffeb4p-1f, 0x1.ffff7p-1f,  0x1.ffffc4p-1f, 0x1.ffffe8p-1f, 0x1.fffff6p-1f,
     0x1.fffffcp-1f, 0x1p+0f},
    {0x1.06eba8p-3f,  0x1.1c62fap+0f,  0x1.0f5d16p+0f,  0x1.f5f0ccp-1f,  0x1.c1efcap-1f,
     0x1.86e96ap-1f,  0x1.492e44p-1f,  0x1.0cab62p-1f,  0x1.a911fp-2f,   0x1.45e99cp-2f,
     0x1.e4653p-3f,   0x1.5ce596p-3f,  0x1.e72372p-4f,  0x1.499d48p-4f,  0x1.b0553p-5f,
     0x1.12ceb2p-5f,  0x1.529bap-6f,   0x1.94624ep-7f,  0x1.d4143cp-8f,  0x1.06918ap-8f,
     0x1.1d8316p-9f,  0x1.2ce898p-10f, 0x1.3360cep-11f, 0x1.30539p-12f,  0x1.2408eap-13f,
     0x1.0f9e1cp-14f, 0x1.e9b5eap-16f, 0x1.abe0ap-17f,  0x1.6a5972p-18f, 0x1.296a72p-19f,
     0x1.d9371ep-21f, 0x1.6ce1aap-22f},
    {0x0p+0f,          -0x1.1c6136p-3f,  -0x1.0f5beap-2f,  -0x1.786ecep-2f,  -0x1.c1f394p-2f,
     -0x1.e8a6dap-2f,  -0x1.edcfaep-2f,  -0x1.d636cp-2f,   -0x1.a90abap-2f,  -0x1.6e9eb6p-2f,
     -0x1.2ec5b8p-2f,  -0x1.dfb462p-3f,  -0x1.6d6c72p-3f,  -0x1.0bd902p-3f,  -0x1.7a6a9ep-4f,
     -0x1.01663p-4f,   -0x1.52fa16p-5f,  -0x1.ae1aap-6f,   -0x1.07ea94p-6f,  -0x1.35e65cp-7f,
     -0x1.61137ap-8f,  -0x1.85169ep-9f,  -0x1.ab9bdcp-10f, -0x1.ad3bdep-11f, -0x1.852ef6p-12f,
     -0x1.b283b6p-13f, -0x1.ee2b0ap-14f, -0x1.9ce9acp-14f, -0x1.3daaacp-14f, -0x1.2021d4p-19f,
     0x1.089e5cp-17f,  -0x1.718d74p-14f},
    {-0x1.8126b4p-2f, -0x1.6f4f9p-2f,  -0x1.3c9482p-2f, -0x1.e0e138p-3f, -0x1.2bfa0ep-3f,
     -0x1.c84782p-5f, 0x1.b61b5p-6f,   0x1.7c89b2p-4f,  0x1.1b6936p-3f,  0x1.4cb63p-3f,
     0x1.5719f8p-3f,  0x1.4374fcp-3f,  0x1.1c294ap-3f,  0x1.d660dcp-4f,  0x1.714808p-4f,
     0x1.1440aap-4f,  0x1.8b078ap-5f,  0x1.0ea466p-5f,  0x1.63eda6p-6f,  0x1.c1ef5cp-7f,
     0x1.119f1p-7f,   0x1.408092p-8f,  0x1.69cdfep-9f,  0x1.89e134p-10f, 0x1.9db73ep-11f,
     0x1.a3726p-12f,  0x1.9aa32cp-13f, 0x1.845054p-14f, 0x1.62cb94p-15f, 0x1.3949bap-16f,
     0x1.0b698p-17f,  0x1.b95cf6p-19f},
    {0x0p+0f,         0x1.158822p-4f,  0x1.016462p-3f,  0x1.492d9p-3f,   0x1.7e1ddcp-3f,
     0x1.6f3a82p-3f,  0x1.48f294p-3f,  0x1.f77e98p-4f,  0x1.fd41e4p-5f,  0x1.49d8dp-6f,
     0x1.002ee6p-12f, -0x1.165114p-5f, -0x1.255996p-5f, -0x1.71fca6p-5f, -0x1.49a7cp-5f,
     -0x1.d12ba2p-5f, -0x1.7781c6p-6f, -0x1.3de9a8p-6f, -0x1.338112p-7f, -0x1.ca7436p-6f,
     -0x1.816338p-6f, -0x1.14108p-6f,  0x1.9e26b4p-10f, -0x1.82fa4ep-8f, -0x1.a90464p-7f,
     0x1.617ef2p-11f, 0x1.6e04aap-8f,  0x1.cbd68ep-7f,  0x1.da456ap-7f,  -0x1.92f55p-10f,
     -0x1.791caap-9f, 0x1.6bb2dp-6f},
    {0x1.cb7662p-4f,  0x1.9277f4p-4f,  0x1.3ab284p-4f,  0x1.d6940ap-6f,   0x1.6b19eep-7f,
     -0x1.61f2bep-6f, -0x1.563e38p-5f, -0x1.f837bap-5f, -0x1.2a6466p-4f,  -0x1.020f1ap-4f,
     -0x1.75df22p-5f, -0x1.f9d9f8p-6f, -0x1.d4722cp-7f, -0x1.b667bcp-10f, 0x1.c15594p-8f,
     0x1.5e85a8p-7f,  0x1.b7f5f6p-7f,  0x1.9a4a1p-7f,   0x1.6035ap-7f,    0x1.0f05aep-7f,
     0x1.8e6fe6p-8f,  0x1.13c83p-8f,   0x1.6a9352p-9f,  0x1.c1d6acp-10f,  0x1.0ad154p-10f,
     0x1.2f8464p-11f, 0x1.4a5e7cp-12f, 0x1.592f6ep-13f, 0x1.5a179cp-14f,  0x1.4dc9c4p-15f,
     0x1.35c5acp-16f, 0x1.153512p-17f},
};

/* Eight pieces per octave of x + 0.625, so that clearing the low 20 bits of x + 0.625 gives the
 * start of the piece. */
static const pieces tanh_pieces = {
    {0x1.c278a6p-1f, 0x1.d9c6fap-1f, 0x1.e8789ep-1f, 0x1.f1994ep-1f, 0x1.f73776p-1f, 0x1.faa794p-1f,
     0x1.fcc04cp-1f, 0x1.fe06ecp-1f, 0x1.fecd6cp-1f, 0x1.ff8f22p-1f, 0x1.ffd678p-1f, 0x1.fff0b8p-1f,
     0x1.fffa6p-1f,  0x1.fffdeep-1f, 0x1.ffff3ep-1f, 0x1.ffffb8p-1f, 0x1.ffffe6p-1f, 0x1.fffffcp-1f,
     0x0p+0f,        0x1.ff559ap-5f, 0x1.fd5992p-4f, 0x1.7b8ffap-3f, 0x1.f597eap-3f, 0x1.35f98ap-2f,
     0x1.6ef53ep-2f, 0x1.d9353ep-2f, 0x1.1bf47ep-1f, 0x1.45323ep-1f, 0x1.68665p-1f,  0x1.85efacp-1f,
     0x1.9e5cb6p-1f, 0x1.b2523cp-1f},
    {0x1.cea4b8p-3f,  0x1.266156p-3f,  0x1.6fd4b4p-4f,  0x1.c65aa6p-5f, 0x1.16b0aap-5f,
     0x1.54405ep-6f,  0x1.9eb29p-7f,   0x1.f7ba9cp-8f,  0x1.321e42p-8f, 0x1.c31de4p-10f,
     0x1.4b7792p-11f, 0x1.e9d046p-13f, 0x1.72692p-14f,  0x1.16ae3p-15f, 0x1.38b3bap-17f,
     0x1.63e8b2p-18f, 0x1.164a38p-20f, 0x1.e70fb8p-21f, 0x1p+0f,        0x1.fe0138p-1f,
     0x1.f81574p-1f,  0x1.ee6914p-1f,  0x1.e149f6p-1f,  0x1.d1158cp-1f, 0x1.be3fa6p-1f,
     0x1.92a8d6p-1f,  0x1.6285d6p-1f,  0x1.31743ap-1f,  0x1.02512ep-1f, 0x1.ae0b9cp-2f,
     0x1.614f28p-2f,  0x1.1f242ep-2f},
    {-0x1.96beb6p-3f,  -0x1.10c9dcp-3f,  -0x1.5f8a7ap-4f,  -0x1.b983bep-5f,  -0x1.12f4fp-5f,
     -0x1.4e8e8ep-6f,  -0x1.a13baap-7f,  -0x1.ea019p-8f,   -0x1.2fc23ap-8f,  -0x1.c02d46p-10f,
     -0x1.4015cap-11f, -0x1.f67aecp-13f, -0x1.08d22ep-13f, -0x1.e7e1dep-15f, 0x1.a39776p-16f,
     -0x1.5ca4ap-16f,  0x1.6b561ep-19f,  -0x1.a11a04p-18f, 0x0p+0f,          -0x1.fc5e52p-5f,
     -0x1.f6c33ap-4f,  -0x1.6cd9bap-3f,  -0x1.d83118p-3f,  -0x1.19a9d2p-2f,  -0x1.3fc9b6p-2f,
     -0x1.73ed06p-2f,  -0x1.89c6e6p-2f,  -0x1.8448d2p-2f,  -0x1.6c3b4p-2f,   -0x1.46fcd2p-2f,
     -0x1.1db8eap-2f,  -0x1.e6b66ap-3f},
    {0x1.9139f6p-4f,  0x1.3ce00ep-4f,   0x1.b68bccp-5f,  0x1.14f3cep-5f,  0x1.78ac92p-6f,
     0x1.85e6c8p-7f,  0x1.4ab19cp-7f,   0x1.87ae1cp-9f,  0x1.80507ep-9f,  0x1.1bb3bep-10f,
     0x1.3224aep-12f, 0x1.909578p-13f,  0x1.2979a6p-12f, 0x1.644918p-13f, -0x1.9dc374p-13f,
     0x1.8f91aap-14f, -0x1.6f7f42p-17f, 0x1.33172ap-16f, -0x1.55553ep-2f, -0x1.55d3bep-2f,
     -0x1.31872ep-2f, -0x1.4e156ep-2f,  -0x1.eeef4ap-3f, -0x1.b94274p-3f, -0x1.7005bp-3f,
     -0x1.96c81cp-4f, -0x1.7b2a88p-8f,  0x1.874becp-5f,  0x1.831dbap-4f,  0x1.77f43cp-4f,
     0x1.b36888p-4f,  0x1.a79764p-4f},
    {-0x1.e26982p-7f, -0x1.231b66p-5f,  -0x1.d7ddb8p-6f,  -0x1.db03e4p-7f,  -0x1.1100e4p-6f,
     0x1.288acep-11f, -0x1.934538p-7f,  0x1.cd58dp-8f,    -0x1.232412p-10f, -0x1.ab1968p-12f,
     0x1.8a9fecp-14f, -0x1.47c156p-13f, -0x1.1dda46p-11f, -0x1.6f5608p-12f, 0x1.e76e88p-12f,
     -0x1.bdcefp-13f, 0x1.bc7486p-17f,  -0x1.797d74p-16f, 0x0p+0f,          0x1.3266fcp-3f,
     -0x1.8ca1e6p-3f, 0x1.9ff2fap-1f,   -0x1.256464p-3f,  0x1.53847p-4f,    0x1.703e1cp-3f,
     0x1.b40a4ep-3f,  0x1.bcf56ap-6f,   0x1.6f3ce4p-5f,   -0x1.cd04eep-5f,  0x1.15fdp-3f,
     0x1.7684dap-5f,  0x1.05b532p-5f},
    {-0x1.07ef3p-6f,   0x1.3cc96ap-6f,   0x1.1e0bcep-6f,  0x1.c3af18p-9f,  0x1.c2bb54p-7f,
     -0x1.29dcd2p-7f,  0x1.de3764p-7f,   -0x1.d80004p-7f, 0x1.0e7136p-13f, 0x1.73d87cp-15f,
     -0x1.779b1ap-13f, 0x1.6bf7fcp-14f,  0x1.ba8fb8p-12f, 0x1.2068cep-12f, -0x1.87e718p-12f,
     0x1.6323e8p-13f,  -0x1.6901bcp-18f, 0x1.460408p-17f, 0x1.107864p-3f,  -0x1.2eec58p-1f,
     0x1.e564fcp+0f,   -0x1.1ca306p+2f,  0x1.e520f2p+0f,  0x1.0bf2acp-1f,  -0x1.0f5e3ap-5f,
     -0x1.8a061ep-3f,  0x1.30d554p-2f,   0x1.cf7c82p-4f,  0x1.480114p-2f,  -0x1.8e51d4p-2f,
     -0x1.5096e8p-3f,  -0x1.458554p-3f},
};

#endif
