# Shows how far a long command is, in one line. To be sourced.

# Runs a command whose output is only of interest if it fails.
#
#   with_progress LABEL COMMAND...
#
# Understands the status lines of apt (-o APT::Status-Fd=1) and the progress of Bazel without curses.
# Without a terminal it prints a line from time to time.
with_progress() {
  local label=$1 log status=0
  shift
  log=$(mktemp)
  (set -o pipefail; "$@" 2>&1 | tee "$log" | _show_progress "$label") || status=$?
  if [ "$status" != 0 ]; then
    printf '\n%s failed. It printed last:\n' "$label" >&2
    grep -vE '^(pm|dl)status:|^\[[0-9,]+ / [0-9,]+\]' "$log" | tail -n 40 >&2
  fi
  rm -f "$log"
  return "$status"
}

_show_progress() {
  local label=$1 line step shown=0 begin=$SECONDS
  trap '' INT  # The command ends by itself, and this with it.
  while IFS= read -r line; do
    step=$(_step_of "$line" $((SECONDS - begin)))
    [ -n "$step" ] || continue
    if [ -t 1 ]; then
      printf '\r\033[K%s: %s' "$label" "$step"
    elif [ $((SECONDS - begin)) -ge $((shown + 20)) ]; then
      shown=$((SECONDS - begin))
      printf '%s: %s\n' "$label" "$step"
    fi
  done
  [ ! -t 1 ] || printf '\r\033[K'
  printf '%s: %s\n' "$label" "$(_duration $((SECONDS - begin)))"
}

# Prints what a line says of the progress; nothing if it says nothing.
_step_of() {
  local line=$1 seconds=$2 done total left
  if [[ $line =~ ^dlstatus:[^:]*:([0-9]+) ]]; then
    echo "downloaded ${BASH_REMATCH[1]} %"
  elif [[ $line =~ ^pmstatus:[^:]*:([0-9]+) ]]; then
    echo "installed ${BASH_REMATCH[1]} %"
  elif [[ $line =~ ^\[([0-9,]+)\ /\ ([0-9,]+)\] ]]; then
    done=${BASH_REMATCH[1]//,/} total=${BASH_REMATCH[2]//,/} left=
    # The first actions are short, and not all are known yet.
    if [ $((done * 5)) -ge "$total" ] && [ "$seconds" -ge 20 ]; then
      left=", about $(_duration $((seconds * (total - done) / done))) left"
    fi
    echo "$done of $total steps$left"
  fi
}

_duration() {
  if [ "$1" -lt 60 ]; then echo "$1 s"; else echo "$(($1 / 60)) min $(($1 % 60)) s"; fi
}
