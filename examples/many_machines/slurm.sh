#!/bin/bash
# sbatch slurm.sh record kernels-v0 --episodes 1000 --output /scratch/recorded
# Starts Ray on all nodes of the job, and runs compiler-gym with the arguments on the first.
#SBATCH --job-name=compiler-gym
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
set -euo pipefail

head=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
address="$(srun --nodes=1 --ntasks=1 -w "$head" hostname --ip-address | cut -d ' ' -f 1):6379"
export RAY_USAGE_STATS_ENABLED=0
# Others in the network cannot run code without the token, which is in the home directory.
export RAY_AUTH_MODE=token
ray get-auth-token --generate > /dev/null

trap 'kill $(jobs -p) || true' EXIT
srun --nodes=1 --ntasks=1 --overlap -w "$head" \
  ray start --head --port=6379 --num-cpus=0 --block &
sleep 10
srun --overlap --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 \
  ray start --address="$address" --num-cpus="$SLURM_CPUS_PER_TASK" --block &
srun --nodes=1 --ntasks=1 --overlap -w "$head" compiler-gym "$@" --ray "$address"
