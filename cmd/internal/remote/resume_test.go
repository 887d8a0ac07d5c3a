package remote

import (
	"strings"
	"testing"
	"time"

	"github.com/seed-82afce7a/rewind/engine"
	"github.com/seed-82afce7a/rewind/engine/away"
	"github.com/seed-82afce7a/rewind/internal/oid"
	"github.com/seed-82afce7a/rewind/remote/restic"
)

func TestADateThatIsToComeIsTold(t *testing.T) {
	here, there := engine.ID{}, away.Distant{Snapshot: &restic.Snapshot{Hostname: "box", Time: time.Now().AddDate(1, 0, 0)}}
	r := &away.Resumed{Snapshot: &engine.Snapshot{ID: here}}
	if err := dated(r); err != nil {
		t.Errorf("of none it says %v", err)
	}
	r.Ahead = &there
	if err := dated(r); err == nil || !strings.Contains(err.Error(), "of box is dated ") || !strings.Contains(err.Error(), "others may be newer") {
		t.Errorf("of one that was taken it says %v", err)
	}
	there.Of = oid.SHA1.Sum(oid.Blob, nil)
	if err := dated(r); err == nil || !strings.Contains(err.Error(), "it was passed over, and \"rewind fetch\" brings it here") {
		t.Errorf("of one that was passed over it says %v", err)
	}
}
