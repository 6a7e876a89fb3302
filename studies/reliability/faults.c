/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before a program (LD_PRELOAD): from MPI_Init on, what STRETTO_FAULT names fails.
 *   allocation:N        the N-th allocation that the program, libstdc++ or a library of matrices asks for
 *   allocations:N       that one and all larger than 4 KiB after it, as where memory is used up
 *   mpi:N               the N-th call of MPI that communicates, and all after it: the error handler decides, as MPI has
 * it N = 0 fails nothing. How many there were goes to the file that STRETTO_FAULT_COUNT names. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { many = 64, large = 4096 };

static const char* const watched[] = {"libstdc++", "libumfpack", "libcholmod",           "libamd",    "libbtf",
                                      "libmetis",  "libz.so",    "libsuitesparseconfig", "libstretto"};
static struct {
    uintptr_t begin, end;
} code[many];
static int codes;
static atomic_long calls;
static long failing;
static int allocations, persistent, mpi;

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static int is_watched(const char* name) {
    if (!*name) return 1; /* the program itself */
    for (size_t k = 0; k < sizeof watched / sizeof *watched; ++k)
        if (strstr(name, watched[k])) return 1;
    return 0;
}

static int note(struct dl_phdr_info* object, size_t size, void* unused) {
    (void)size, (void)unused;
    if (!is_watched(object->dlpi_name)) return 0;
    for (int k = 0; k < object->dlpi_phnum && codes < many; ++k) {
        const ElfW(Phdr)* part = &object->dlpi_phdr[k];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        code[codes].begin = object->dlpi_addr + part->p_vaddr;
        code[codes].end = code[codes].begin + part->p_memsz;
        ++codes;
    }
    return 0;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
    const int result = PMPI_Init_thread(argc, argv, required, provided);
    const char *text = getenv("STRETTO_FAULT"), *colon = text ? strchr(text, ':') : NULL;
    if (!colon) return result;
    dl_iterate_phdr(note, NULL);
    failing = atol(colon + 1);
    persistent = !strncmp(text, "allocations", 11);
    mpi = !strncmp(text, "mpi", 3);
    allocations = !mpi;
    return result;
}

__attribute__((destructor)) static void tell(void) {
    const char* path = allocations || mpi ? getenv("STRETTO_FAULT_COUNT") : NULL; /* not of what MPI starts */
    FILE* file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

static int allocation_fails(const void* caller, size_t size) {
    if (!allocations) return 0;
    int ours = 0;
    for (int k = 0; k < codes && !ours; ++k)
        ours = (uintptr_t)caller >= code[k].begin && (uintptr_t)caller < code[k].end;
    if (!ours) return 0;
    const long call = atomic_fetch_add(&calls, 1) + 1;
    const int fails = failing > 0 && (call == failing || (persistent && call > failing && size > large));
    if (fails) errno = ENOMEM;
    return fails;
}

void* malloc(size_t size) { return allocation_fails(__builtin_return_address(0), size) ? NULL : __libc_malloc(size); }
void* calloc(size_t count, size_t size) {
    return allocation_fails(__builtin_return_address(0), count * size) ? NULL : __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
    return allocation_fails(__builtin_return_address(0), size) ? NULL : __libc_realloc(old, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
    return allocation_fails(__builtin_return_address(0), size) ? NULL : __libc_memalign(alignment, size);
}
int posix_memalign(void** memory, size_t alignment, size_t size) {
    if (allocation_fails(__builtin_return_address(0), size)) return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

static int mpi_fails(MPI_Comm comm, int* error) {
    if (!mpi) return 0;
    const long call = atomic_fetch_add(&calls, 1) + 1;
    if (failing == 0 || call < failing) return 0;
    *error = MPI_ERR_OTHER;
    PMPI_Comm_call_errhandler(comm, *error);
    return 1;
}

#define FAULTY(comm, name, parameters, arguments)  \
    int MPI_##name parameters {                    \
        int error = MPI_SUCCESS;                   \
        if (mpi_fails(comm, &error)) return error; \
        return PMPI_##name arguments;              \
    }

FAULTY(c, Allreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
FAULTY(c, Iallreduce, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request* q),
       (s, r, n, t, o, c, q))
FAULTY(c, Allgather, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),
       (s, n, t, r, m, u, c))
FAULTY(c, Iallgather,
       (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c, MPI_Request* q),
       (s, n, t, r, m, u, c, q))
FAULTY(c, Alltoall, (const void* s, int n, MPI_Datatype t, void* r, int m, MPI_Datatype u, MPI_Comm c),
       (s, n, t, r, m, u, c))
FAULTY(c, Alltoallv,
       (const void* s, const int n[], const int d[], MPI_Datatype t, void* r, const int m[], const int e[],
        MPI_Datatype u, MPI_Comm c),
       (s, n, d, t, r, m, e, u, c))
FAULTY(c, Scatterv,
       (const void* s, const int n[], const int d[], MPI_Datatype t, void* r, int m, MPI_Datatype u, int root,
        MPI_Comm c),
       (s, n, d, t, r, m, u, root, c))
FAULTY(c, Exscan, (const void* s, void* r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
FAULTY(c, Bcast, (void* b, int n, MPI_Datatype t, int root, MPI_Comm c), (b, n, t, root, c))
FAULTY(c, Barrier, (MPI_Comm c), (c))
FAULTY(c, Irecv, (void* b, int n, MPI_Datatype t, int p, int tag, MPI_Comm c, MPI_Request* q), (b, n, t, p, tag, c, q))
FAULTY(c, Isend, (const void* b, int n, MPI_Datatype t, int p, int tag, MPI_Comm c, MPI_Request* q),
       (b, n, t, p, tag, c, q))
FAULTY(c, Recv, (void* b, int n, MPI_Datatype t, int p, int tag, MPI_Comm c, MPI_Status* s), (b, n, t, p, tag, c, s))
FAULTY(c, Send, (const void* b, int n, MPI_Datatype t, int p, int tag, MPI_Comm c), (b, n, t, p, tag, c))
FAULTY(c, Probe, (int p, int tag, MPI_Comm c, MPI_Status* s), (p, tag, c, s))
FAULTY(c, Comm_dup, (MPI_Comm c, MPI_Comm* d), (c, d))
FAULTY(c, Comm_split, (MPI_Comm c, int color, int key, MPI_Comm* d), (c, color, key, d))
FAULTY(c, Comm_split_type, (MPI_Comm c, int type, int key, MPI_Info i, MPI_Comm* d), (c, type, key, i, d))
FAULTY(MPI_COMM_WORLD, Wait, (MPI_Request * q, MPI_Status* s), (q, s))
FAULTY(MPI_COMM_WORLD, Waitall, (int n, MPI_Request q[], MPI_Status s[]), (n, q, s))
FAULTY(MPI_COMM_WORLD, Test, (MPI_Request * q, int* done, MPI_Status* s), (q, done, s))
FAULTY(MPI_COMM_WORLD, Testall, (int n, MPI_Request q[], int* done, MPI_Status s[]), (n, q, done, s))
