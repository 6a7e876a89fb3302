// SPDX-License-Identifier: BSD-3-Clause
// What PETSc calls when it loads the plug-in (-dll_append), and what it finds there.
#include <array>
#include <string>
#include <utility>

#include "ksp.hpp"

namespace stretto::petsc {
namespace {

/// The type `stretto`, and those of PETSc that can be replaced, each with a method of the same kind.
template <int>
PetscErrorCode create_type(KSP ksp);

struct Type {
    const char *name, *method;
    PetscErrorCode (*create)(KSP);
};
constexpr Type types[] = {
    {"stretto", "auto", create_type<0>},
    {KSPCG, "cg", create_type<1>},
    {KSPGMRES, "gmres", create_type<2>},
    {KSPFGMRES, "gmres:flexible=1", create_type<3>},
    {KSPBCGS, "bicgstab", create_type<4>},
    {KSPFCG, "flexible_cg", create_type<5>},
    {KSPMINRES, "minres", create_type<6>},
    {KSPPIPECG, "pipelined_cg", create_type<7>},
    {KSPPIPELCG, "deep_pipelined_cg", create_type<8>},
    {KSPPIPEBCGS, "pipelined_bicgstab", create_type<9>},
    {KSPPGMRES, "pipelined_gmres", create_type<10>},
};
template <int number>
PetscErrorCode create_type(KSP ksp) {
    return create(ksp, types[number].method);
}

const Type* find(std::string_view name) {
    for (const Type& type : types)
        if (name == type.name) return &type;
    return nullptr;
}

std::string version(PetscInt major, PetscInt minor) { return std::to_string(major) + "." + std::to_string(minor); }

/// That this is the PETSc that the plug-in was compiled for: private structures differ otherwise.
void check_petsc() {
    PetscInt major = 0, minor = 0;
    must(PetscGetVersionNumber(&major, &minor, nullptr, nullptr));
    const std::string here = version(PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR), there = version(major, minor);
    if (here != there)
        throw InputError("this plug-in is for PETSc " + here + ", the program runs PETSc " + there +
                         ": build it with `make petsc PETSC_DIR=...` for that one");
    PetscDataType scalar = PETSC_DATATYPE_UNKNOWN;
    PetscBool found = PETSC_FALSE;
    must(PetscDataTypeFromString("scalar", &scalar, &found));
    if (scalar != PETSC_DOUBLE)
        throw InputError("the program's PETSc has other scalars than real double precision, which the plug-in is for");
    std::array<PetscInt, 4> number{-1, -1, -1, -1};
    must(PetscOptionsStringToInt("1", number.data()));  // writes as many bytes as this PETSc's integers have
    if (number[0] != 1 || number[1] != -1)
        throw InputError("the program's PETSc has integers of another size than the one the plug-in was built with");
}

void register_types() {
    check_petsc();
    must(KSPRegister(types[0].name, types[0].create));
    std::array<char*, 16> names{};
    auto count = static_cast<PetscInt>(names.size());
    PetscBool given = PETSC_FALSE;
    must(PetscOptionsGetStringArray(nullptr, nullptr, "-stretto_replace", names.data(), &count, &given));
    if (given && count == 0) throw InputError("-stretto_replace: which types? as in -stretto_replace cg,gmres");
    for (PetscInt i = 0; i < count; ++i) {
        const Type* const type = find(names[static_cast<std::size_t>(i)]);
        if (!type || type == types) {
            std::string known;
            for (const Type& each : std::span(types).subspan(1))
                known += std::string(known.empty() ? "" : ", ") + each.name;
            throw InputError(std::string("-stretto_replace ") + names[static_cast<std::size_t>(i)] +
                             ": these types can be replaced: " + known);
        }
        must(KSPRegister(type->name, type->create));
        must(PetscFree(names[static_cast<std::size_t>(i)]));
    }
}

}  // namespace
}  // namespace stretto::petsc

/// Found by its name, which is that of the file.
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_stretto_petsc() {
    return stretto::petsc::guarded(PETSC_COMM_SELF, stretto::petsc::register_types);
}
