# Tuning: timings of choices, and best configurations of kernels.
site=(--op mm --inputs "64x64,64x64" --precision highest --system a100)
run guardcache tune get "${site[@]}" triton_0 cublas
run guardcache tune put "${site[@]}" triton_0=0.25 cublas=0.5 broken=inf
run guardcache tune get "${site[@]}" triton_0 cublas broken
run guardcache tune get "${site[@]}" triton_0 new_one
run guardcache tune get "${site[@]}" --size-hint 512 cublas
run guardcache tune put "${site[@]}" triton_0
run guardcache tune get triton_0

kernel=(--kernel c0ffee --toolchain t1)
offered=(--config "BLOCK=64,num_warps=4" --config "BLOCK=128,num_warps=4")
run guardcache tune explain "${kernel[@]}" "${offered[@]}" --configs-hash h1
run guardcache tune put "${kernel[@]}" --config "BLOCK=128,num_warps=4,num_stages=2" --configs-hash h1 --tuning-ns 7000000
run guardcache tune explain "${kernel[@]}" "${offered[@]}" --configs-hash h1
run guardcache tune explain "${kernel[@]}" "${offered[@]}" --configs-hash h2
run guardcache tune explain "${kernel[@]}" "${offered[@]}" "${offered[@]}" --configs-hash h1
run guardcache tune explain "${kernel[@]}" --config "BLOCK=64" --configs-hash h1 --json
run guardcache tune put "${kernel[@]}" --config "BLOCK=96,num_warps=16" --configs-hash h1 --by-descent
run guardcache tune explain "${kernel[@]}" "${offered[@]}" --configs-hash h1
run guardcache tune explain "${kernel[@]}" "${offered[@]}" --configs-hash h1 --by-descent
run guardcache tune get "${kernel[@]}"
run guardcache tune get --kernel beef
run guardcache tune ls
run guardcache tune ls --json
run guardcache tune put --op $'\xff' a=1
run guardcache tune get --op $'\xff' a
run guardcache tune put --kernel $'\xfe' --config n=1 --configs-hash h1
