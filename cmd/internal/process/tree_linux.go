package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which the kernel tells of processor time: USER_HZ is 100 on every
// system that Go runs on.
const tick = time.Second / 100

// WorkOf tells what a process and all that it started have done. What has left the tree
// is not counted any more.
func WorkOf(pid int) (w Work, err error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return w, err
	}
	times, children := map[int]time.Duration{}, map[int][]int{}
	for _, entry := range all {
		id, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if parent, t, ok := readStat(id); ok {
			times[id] = t
			children[parent] = append(children[parent], id)
		}
	}
	if _, there := times[pid]; !there {
		return w, fmt.Errorf("there is no process %d", pid)
	}
	for next := []int{pid}; len(next) > 0; {
		id := next[0]
		next = append(next[1:], children[id]...)
		w.Took += times[id]
		w.Who = w.Who*31 + uint64(id)
	}
	return w, nil
}

// readStat reads what the kernel tells of a process that has not ended: its parent, and
// the time that it and those of its children that have ended took.
func readStat(pid int) (parent int, took time.Duration, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	// The name may have blanks and parentheses. Behind it come the state, the parent, and
	// as the 12th to 15th field the times.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 15 || fields[0] == "Z" {
		return 0, 0, false
	}
	parent, _ = strconv.Atoi(fields[1])
	for _, text := range fields[11:15] {
		n, _ := strconv.ParseInt(text, 10, 64)
		took += time.Duration(n) * tick
	}
	return parent, took, true
}
