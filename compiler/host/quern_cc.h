/* The host compiler's door: CUDA C++ in, an x86-64 relocatable object out. A plain C ABI, so that
 * the library (Clang and LLVM inside, hidden) can be opened on a cache miss only, and its C++ never
 * meets ours. Thread safe: any number of threads may compile at once. Nothing here exits or aborts
 * the process. */
#ifndef QUERN_CC_H
#define QUERN_CC_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
#define QUERN_CC_API __attribute__((visibility("default")))
#define QUERN_CC_ABI 4

typedef struct quern_cc_file {
    const char* name; /* as written between the quotes of #include */
    const char* text;
    size_t size;
} quern_cc_file;

/* Where the caller keeps what one compilation leaves to later ones, also of other processes: bytes
 * under a key. Both may be called by any thread, until the process ends, and do not fail: what is
 * not kept is made again. */
typedef struct quern_cc_store {
    void* state;
    /* calls `take` when there is something */
    void (*find)(void* state, const char* key,
                 void (*take)(void* taker, const void* bytes, size_t size), void* taker);
    void (*keep)(void* state, const char* key, const void* bytes, size_t size);
} quern_cc_store;

typedef struct quern_cc_request {
    unsigned abi;          /* QUERN_CC_ABI */
    const char* file_name; /* label of the main source in diagnostics */
    const char* source;
    size_t source_size;
    const quern_cc_file* headers; /* found by #include "name" and <name>, before any folder */
    size_t header_count;
    const char* const*
        options; /* NVRTC spellings: -DX=1, -Idir, -std=c++20, --fmad=false, --use_fast_math ... */
    size_t option_count;
    const char* arch; /* LLVM CPU name, then features: "x86-64-v4+avx512bf16" (Arch::name) */
    const char* const*
        name_expressions; /* C++ expressions of kernels and variables, as nvrtcAddNameExpression */
    size_t name_expression_count;
    const char* const* toolkit_folders; /* headers of the CUDA toolkit, searched after everything
                                           else; their own cuda_fp16.h and the like are not used */
    size_t toolkit_folder_count;
    const quern_cc_store* store; /* or null */
} quern_cc_request;

typedef enum quern_cc_status {
    QUERN_CC_OK = 0,
    QUERN_CC_ERROR = 1,   /* the source is at fault: log holds Clang's diagnostics */
    QUERN_CC_REFUSED = 2, /* something the CPU backend cannot run: log says what and why */
    QUERN_CC_CRASH = 3    /* Clang or LLVM failed; the process goes on; log says where */
} quern_cc_status;

typedef struct quern_cc_result {
    quern_cc_status status;
    const void* object; /* ELF relocatable, see compiler/base/host_abi.h */
    size_t object_size;
    const char* log;                  /* warnings and errors, NUL terminated, "" when clean */
    const char* const* lowered_names; /* one per name expression, in order */
    size_t lowered_name_count;
    /* A line for each kernel, see compiler/base/kernel_facts.h */
    const char* facts;
    double front_end_ms, optimise_ms, emit_ms;
} quern_cc_result;

QUERN_CC_API quern_cc_result* quern_cc_compile(const quern_cc_request* request);
QUERN_CC_API void quern_cc_free(quern_cc_result* result);
/* Why an option ("--ftz=true") is accepted and changes nothing on a CPU; "" when it does something.
 */
QUERN_CC_API const char* quern_cc_why_ignored(const char* option);
/* Until nothing is being made in the background any more. */
QUERN_CC_API void quern_cc_wait(void);
QUERN_CC_API const char* quern_cc_identity(void); /* "clang 19.1.7 (quern cc 4)" */
#ifdef __cplusplus
}
#endif
#endif
