"""Reading headers, on a small one of our own in the manner of cuda.h and cudaTypedefs.h."""

import tempfile
import unittest
from pathlib import Path

import deflist
import enums
import harvest
import headers
import layout
import signature

CUDA_H = """
#define CUDA_VERSION 12040
#define CUDAAPI
#if defined(__CUDA_API_VERSION_INTERNAL) || defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define PTSZ(api) api ## _ptsz
#else
#define PTSZ(api) api
#endif
#define cuAlloc cuAlloc_v2
#define cuPush PTSZ(cuPush)
typedef struct CUstream_st *CUstream;
typedef unsigned long long CUptr_v2;
typedef CUptr_v2 CUptr;
typedef enum CUcolour_enum { CU_RED = 1, CU_GREEN, CU_COLOUR_MAX = 0x7fffffff } CUcolour;
typedef struct CUpair_st { int first; union { int a; char b; }; struct { int x; } deep; } CUpair;
#ifdef __cplusplus
extern "C" {
#endif
int CUDAAPI cuAlloc(CUptr *p, unsigned long n);
int CUDAAPI cuPush(CUstream s, void (*call)(int, int), const char *name) __attribute__((deprecated));
static inline int cuInline(int x) { return x; }
#if defined(__CUDA_API_VERSION_INTERNAL)
#undef cuAlloc
#undef cuPush
int CUDAAPI cuAlloc(unsigned int *p, unsigned int n);
int CUDAAPI cuPush(CUstream s, void (*call)(int, int), const char *name);
#endif
#ifdef __cplusplus
}
#endif
"""
TYPEDEFS_H = """
#include <cuda.h>
typedef int (CUDAAPI *PFN_cuAlloc_v3020)(CUptr *p, unsigned long n);
typedef int (CUDAAPI *PFN_cuAlloc_v2000)(unsigned int *p, unsigned int n);
typedef int (CUDAAPI *PFN_cuPush_v11020)(CUstream s, void (*call)(int, int), const char *name);
typedef int (CUDAAPI *PFN_cuPush_v11020_ptsz)(CUstream s, void (*c)(int, int), const char *name);
"""


class Reading(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name)
        (self.path / "cuda.h").write_text(CUDA_H)
        (self.path / "cudaTypedefs.h").write_text(TYPEDEFS_H)
        self.addCleanup(self.folder.cleanup)

    def test_every_exported_name_is_seen_and_no_other(self):
        release = headers.read_cuda(self.path)
        self.assertEqual(release.version, "12.4")
        self.assertEqual(sorted(release.functions),
                         ["cuAlloc", "cuAlloc_v2", "cuPush", "cuPush_ptsz"])
        self.assertEqual(release.functions["cuAlloc"], "int(unsigned int* p, unsigned int n)")
        self.assertEqual(release.functions["cuAlloc_v2"], "int(CUptr* p, unsigned long n)")

    def test_the_typedefs_tell_since_when_and_which_twin(self):
        since = harvest.cuda_since([headers.read_cuda(self.path)])
        self.assertEqual(since, {"cuAlloc": "2000", "cuAlloc_v2": "3020", "cuPush": "11020",
                                 "cuPush_ptsz": "11020"})

    def test_merging_adds_lines_and_keeps_decisions(self):
        release = headers.read_cuda(self.path)
        known = deflist.Entry("cuAlloc", "cuAlloc", "2000", "-", "alloc", "wrap", (),
                              "int(unsigned* pointer, unsigned bytes)")
        listed = deflist.DefList(Path("x.def"), [known])
        harvest.merge(listed, [release], harvest.cuda_since([release]))
        by_name = {entry.symbol: entry for entry in listed.entries}
        self.assertEqual(by_name["cuAlloc"].policy, "wrap")
        self.assertEqual(by_name["cuAlloc"].headers, ("12.4",))
        self.assertEqual(by_name["cuPush_ptsz"].mode, "ptsz")
        self.assertEqual(by_name["cuPush_ptsz"].policy, "pass")
        self.assertIs(listed.lines[1], by_name["cuAlloc_v2"])

    def test_a_signature_that_differs_is_not_confirmed(self):
        release = headers.read_cuda(self.path)
        wrong = deflist.Entry("cuAlloc_v2", "cuAlloc", "3020", "-", "alloc", "pass", (),
                              "int(CUptr* p, unsigned int n)")
        listed = deflist.DefList(Path("x.def"), [wrong])
        remarks = harvest.merge(listed, [release], harvest.cuda_since([release]))
        self.assertEqual(wrong.headers, ())
        self.assertTrue(any("declares it otherwise" in remark for remark in remarks))

    def test_a_name_that_means_another_function_is_told(self):
        with (self.path / "cuda.h").open("a") as stream:
            stream.write("#define cuPull cuAlloc_v2\n#define cuAlloc_v2 cuAlloc_v2\n")
        release = headers.read_cuda(self.path)
        text = "R()"
        entries = [deflist.Entry(name, base, "2000", "-", "alloc", "pass", (), text)
                   for name, base in (("cuPull", "cuPull"), ("cuAlloc_v2", "cuAlloc"))]
        listed = deflist.DefList(Path("x.def"), entries)
        self.assertEqual(len(harvest.renamed(listed, [release])), 1)
        listed.also.append(deflist.Also("cuPull", 12000, "-", "cuAlloc_v2"))
        self.assertEqual(harvest.renamed(listed, [release]), [])

    def test_enumerators_and_layouts_are_measured(self):
        self.assertEqual(enums.read(self.path / "cuda.h"),
                         {"CUcolour": {"CU_RED": 1, "CU_GREEN": 2}})
        wanted = {"CUpair": ["first", "a", "b", "deep", "missing"], "CUabsent": []}
        measured = layout.measure(self.path, ["cuda.h"], wanted)
        self.assertEqual(list(measured), ["CUpair"])
        self.assertEqual(measured["CUpair"].size, 12)
        self.assertEqual(measured["CUpair"].members, {"first": 0, "a": 4, "b": 4, "deep": 8})

    def test_a_layout_knows_since_when_it_holds(self):
        new, old = layout.Layout(16, members={"a": 0}), layout.Layout(8, members={"a": 0})
        result = layout.harvest([("13.0", {"X": new}), ("12.4", {"X": layout.Layout(16)}),
                                 ("12.0", {"X": old})])
        self.assertEqual(result["X"].since, "12.4")


class Mirror(unittest.TestCase):
    def test_members_of_our_headers_are_found_through_anonymous_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "cuda_x.h").write_text(
                "struct CUx {\n  CUtype type;  // why\n  union {\n    int id;\n    struct {\n"
                "      char c;\n    } part;\n  };\n  char name[8];\n  const void* next;\n"
                "  struct {\n    int y;\n  } deep;\n};\n")
            self.assertEqual(layout.mirrored(Path(folder), "cuda"),
                             {"CUx": ["type", "id", "part", "name", "next", "deep"]})


class Signatures(unittest.TestCase):
    def test_names_of_parameters_do_not_matter(self):
        self.assertTrue(signature.same("R(int a, const char* b)", "R(int x, const char *y)", {}))
        self.assertTrue(signature.same("R(unsigned a)", "R(unsigned int b)", {}))
        self.assertTrue(signature.same("R()", "R(void)", {}))
        self.assertTrue(signature.same("R(CUa* p)", "R(CUa_v1* p)", {"CUa": "CUa_v1"}))

    def test_types_do(self):
        for theirs in ("R(int a, int b)", "R(unsigned a)", "R(int* a)", "S(int a)"):
            self.assertFalse(signature.same("R(int a)", theirs, {}), theirs)


if __name__ == "__main__":
    unittest.main()
