"""The libraries of the corpus, and what of theirs is run."""

from dataclasses import dataclass


def pytest_runs(*modules: str, options: str = "") -> tuple[str, ...]:
    """Commands that run modules of tests, each on its own.

    `-P` keeps an unbuilt source distribution from being imported in place of what is installed.
    """
    return tuple(f"-P -m pytest -q -p no:cacheprovider {options}{module}" for module in modules)


def within(directory: str, *files: str) -> tuple[str, ...]:
    """Paths of files in a directory."""
    return tuple(f"{directory}/{file}" for file in files)


@dataclass(frozen=True, slots=True)
class Library:
    """A library on PyPI: Python's arguments for each run, from the top of its source distribution."""

    name: str
    version: str
    commands: tuple[str, ...]
    source_distribution: bool = True
    besides: tuple[str, ...] = ()

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip has to install for it."""
        return (f"{self.name}=={self.version}", *self.besides)


LIBRARIES = (
    Library(
        "pyopencl",
        "2026.1.4",
        (
            *pytest_runs(
                *within("test", "test_wrapper.py", "test_clrandom.py", "test_enqueue_copy.py"),
                *within("test", "test_arrays_in_structs.py", "test_algorithm.py"),
                *within("test", "test_clmath.py", "test_array.py"),
            ),
            *within("examples", "demo.py", "demo_array.py", "demo_array_svm.py"),
            *within("examples", "demo_elementwise.py", "demo_elementwise_complex.py"),
            *within("examples", "demo_mandelbrot.py", "demo_meta_template.py"),
            *within("examples", "demo-struct-reduce.py", "image_filters_using_image2d_t.py"),
            *within("examples", "median-filter.py", "n-body.py", "narray.py"),
            *within("examples", "pi-monte-carlo.py", "svm.py", "transpose.py"),
            *within("examples", "black-hole-accretion.py", "dump-performance.py"),
        ),
        besides=("mako", "pytest", "scipy"),
    ),
    Library(
        "silx",
        "3.1.3",
        pytest_runs(
            *(
                f"--pyargs silx.opencl.test.test_{name}"
                for name in (
                    *("addition", "array_utils", "backprojection", "doubleword", "image", "kahan"),
                    *("linalg", "projection", "sparse"),
                )
            ),
            "--pyargs silx.opencl.codec.test",
            "--pyargs silx.image.test",
        )
        + tuple(
            f"{{drivers}}/with_pictures.py -q -p no:cacheprovider "
            f"--pyargs silx.opencl.test.test_{name}"
            for name in ("convolution", "medfilt", "stats")
        ),
        source_distribution=False,
        besides=("h5py",),
    ),
    Library(
        "reikna",
        "0.8.0",
        (
            *within("examples", "demo_fftn_with_transpose.py", "demo_fftshift_transformation.py"),
            *within("examples", "demo_real_to_complex_fft.py", "demo_specgram.py"),
            *within("examples", "demo_specialized_fft.py", "demo_struct_reduce.py"),
            *within("examples", "demo_tempalloc.py"),
            *pytest_runs(
                *within("test/test_algorithms", "test_reduce.py", "test_scan.py"),
                *within("test/test_algorithms", "test_pureparallel.py", "test_transpose.py"),
                *within("test/test_linalg", "test_matrixmul.py", "test_norm.py"),
                *within("test", "test_cbrng", "test_transformations.py", "test_dht.py"),
                *within("test/test_cluda", "test_basics.py", "test_functions.py"),
                *within("test/test_cluda", "test_struct.py", "test_vsizes.py", "test_modules.py"),
                *within("test", "test_core"),
                *within("test/test_fft", "test_fftshift.py", "test_fft.py"),
            ),
        ),
    ),
    Library(
        "loopy",
        "2025.2",
        (
            *within("examples/python", "hello-loopy.py", "rank-one.py", "vector-types.py"),
            *within("examples/python", "find-centers.py", "global_barrier_removal.py"),
            *pytest_runs(
                *within("test", "test_loopy.py", "test_linalg.py", "test_reduction.py"),
                *within("test", "test_apps.py", "test_callables.py", "test_scan.py"),
                *within("test", "test_transform.py", "test_target.py", "test_einsum.py"),
                *within("test", "test_nbody.py", "test_dg.py", "test_diff.py"),
                *within("test", "test_sem_reagan.py", "test_split_iname_slabs.py"),
                *within("test", "test_expression.py", "test_fusion.py"),
                *within("test", "test_domain.py", "test_loop_fusion.py"),
            ),
        ),
    ),
    Library(
        "pyFAI",
        "2026.9.0",
        pytest_runs(
            *(
                f"--pyargs pyFAI.opencl.test.test_{name}"
                for name in (
                    *("addition", "collective", "ocl_azim_csr", "ocl_azim_lut", "ocl_histo"),
                    *("ocl_sort", "peak_finder", "preproc", "openCL"),
                )
            ),
        ),
        source_distribution=False,
    ),
    Library(
        "gputools",
        "0.3.1",
        pytest_runs(
            *within("tests", "convolve", "core", "denoise", "deconv", "fft", "noise"),
            *within("tests", "metrics", "transforms"),
        ),
    ),
    Library(
        "pyclesperanto_prototype",
        "0.24.6",
        ("{drivers}/clesperanto.py",),
        source_distribution=False,
    ),
    Library(
        "nengo-ocl",
        "3.0.0",
        pytest_runs(
            *within("nengo_ocl/tests", "test_clra_gemv.py", "test_clra_nonlinearities.py"),
            *within("nengo_ocl/tests", "test_clraggedarray.py", "test_operators.py"),
            *within("nengo_ocl/tests", "test_simulator.py", "test_ast_conversion.py"),
            options="-p pytest_nengo -p pytest_rng.plugin -p pytest_allclose.plugin ",
        ),
        besides=("pytest-rng", "pytest-allclose"),
    ),
    Library(
        "compyle",
        "0.9.1",
        (
            *pytest_runs(
                *within("compyle/tests", "test_array.py", "test_low_level.py"),
                *within("compyle/tests", "test_parallel.py", "test_jit.py", "test_gpu_struct.py"),
                options="-k opencl ",
            ),
            *(
                f"{example} --backend opencl"
                for example in within("examples", "laplace.py", "axpb.py", "julia_set.py")
            ),
            *(
                f"{example} --backend opencl"
                for example in within("examples", "vm_elementwise.py", "vm_kernel.py")
            ),
            "examples/molecular_dynamics/md_simple.py --backend opencl --nx 5 --tf 0.1",
        ),
    ),
    Library(
        "mot",
        "0.11.4",
        pytest_runs(
            "tests/test_cl_routines.py",
            *within("tests/library_functions", "normal.py", "invgamma.py", "gamma.py"),
            "tests/library_functions/error_functions.py",
        ),
    ),
    Library(
        "pyopencl-extension",
        "0.2.9",
        (
            "examples/minimal.py",
            *pytest_runs(
                "tests/test_framework.py", "tests/test_components", "tests/test_emulation.py"
            ),
        ),
    ),
    Library(
        "kernel_tuner",
        "1.1.0",
        pytest_runs(
            *within("test", "test_opencl_functions.py", "test_runners.py", "test_accuracy.py"),
            *within("test", "test_observers.py", "test_core.py"),
        ),
    ),
    Library("grunnur", "0.3.0", pytest_runs("tests"), besides=("pytest-grunnur",)),
    Library("netcl", "0.4.4", ("{drivers}/netcl_train.py",), source_distribution=False),
    Library("qcgpu", "0.1.1", ("{drivers}/qcgpu_gates.py",), source_distribution=False),
    Library("clogmaneo", "1.2.0", ("{drivers}/clogmaneo_hierarchy.py",), source_distribution=False),
    Library("opencl_fdfd", "0.4", ("{drivers}/opencl_fdfd_solve.py",), source_distribution=False),
)
