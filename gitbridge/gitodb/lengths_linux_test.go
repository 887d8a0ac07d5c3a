package gitodb

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// residentOf is how many kilobytes of a mapped file are in the process's memory.
func residentOf(t *testing.T, path string) (kib int) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	_, text2, mapped := strings.Cut(string(text), path+"\n")
	if !mapped {
		t.Fatal("the pack is not mapped; the test is empty")
	}
	_, text2, _ = strings.Cut(text2, "\nRss:")
	kib, err = strconv.Atoi(strings.Fields(text2)[0])
	if err != nil {
		t.Fatal(err)
	}
	return kib
}

// A look at the sizes of all objects meets every page of a pack. A server that lives on
// had the whole pack in its memory from then on.
func TestALookAtAllSizesLeavesNoPackInMemory(t *testing.T) {
	r := fillPacks(t, lengthsShare+500)
	d := r.open()
	all := r.ids()
	var ids [][]byte
	for id := range all {
		ids = append(ids, id.Bytes())
	}
	sizes := make([]int64, len(ids))
	d.Lengths(len(ids), func(i int) []byte { return ids[i] }, sizes)
	if kib := residentOf(t, r.packFile()); kib > 64 {
		t.Errorf("%d KiB of a pack of %d are in memory", kib, fileSize(r.packFile())>>10)
	}
	r.wantLengths(d, all)
}
