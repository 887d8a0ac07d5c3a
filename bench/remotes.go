package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-82afce7a/rewind/bench/report"
)

// pushesUsual is how many turns are pushed, if nobody says so.
const pushesUsual = 100

// keeps is how a contender keeps what a lane has in a repository elsewhere.
type keeps struct {
	own    bool                                   // by a password that it makes itself
	begin  func(s *script, url string)            // makes the repository
	record func(s *script)                        // what a push brings; nil: it looks itself
	push   func(s *script, url string)            // brings what is not there yet
	resume func(s *script, url, dir, home string) // makes an empty directory what was brought last, where nothing is known of the repository
}

// pushes is rewind with a remote. With a password that it makes, it needs no work at each start to keep that from being
// guessed.
func pushes(noGit, own bool) *keeps {
	return &keeps{
		own:    own,
		begin:  func(s *script, url string) { s.rewind(noGit, "remote", "add", "bench", url, "--json") },
		record: func(s *script) { s.rewind(noGit, "snapshot", "--json") },
		push:   func(s *script, _ string) { s.rewind(noGit, "push", "bench", "--json") },
		resume: func(s *script, url, dir, home string) {
			env := elsewhere(home)
			if own {
				files, err := filepath.Glob(filepath.Join(s.l.home, "rewind", "passwords", "[0-9a-f]*"))
				if err != nil || len(files) != 1 {
					s.do(func() error { return fmt.Errorf("%d files with a password, not one", len(files)) })
					return
				}
				env = append(env, "RESTIC_PASSWORD_FILE="+files[0])
			}
			s.run(command{name: s.l.binary, args: []string{"--no-git", "resume", url, dir, "--json"}, env: env})
		},
	}
}

// backups is restic.
func backups(bool) *keeps {
	run := func(s *script, url, home string, args ...string) {
		c := command{name: "restic", args: append([]string{"-q", "-r", url}, args...)}
		if home != "" {
			c.env = elsewhere(home)
		}
		s.run(c)
	}
	return &keeps{
		begin:  func(s *script, url string) { run(s, url, "", "init") },
		push:   func(s *script, url string) { run(s, url, "", "backup", "--exclude", ".git", ".") },
		resume: func(s *script, url, dir, home string) { run(s, url, home, "restore", "latest", "--target", dir) },
	}
}

// elsewhere is the environment of another machine.
func elsewhere(home string) []string {
	return []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CACHE_HOME=" + home, "XDG_CONFIG_HOME=" + home}
}

// A keeper keeps what a lane has in a repository of the depot.
type keeper struct {
	*keeps
	lane   *lane
	url    string
	target string // the directory of a resume
	home   string // of the machine that resumes
	kept   bool   // something was brought
}

// A keeping is one thing that keepers are measured at.
type keeping struct {
	verb, about string
	changed     int
	whole       bool // the present is recorded within the measured time, where a push does not look itself
	way         func(k *keeper, whole bool) way
}

// keepings are what the workload remote has. The first two are measured without and with the recording.
func (st *stage) keepings() []keeping {
	return []keeping{
		{verb: "first push", about: "nothing is in the repository; until all is there", way: (*keeper).first},
		{verb: "turn", about: "one file has other bytes since the last push; until that is there", changed: 1, way: (*keeper).turn},
		{verb: "resume", about: "an empty directory, where nothing is known of the repository; until it is what was brought last", whole: true, way: (*keeper).back},
		{verb: "turns", about: fmt.Sprintf("%d turns of a scripted agent, each recorded and brought; what the repository has at the end", st.o.Turns), changed: 2, whole: true, way: func(k *keeper, _ bool) way { return k.scripted(st.o) }},
	}
}

// remotes makes the workload of a history that is kept in a repository elsewhere. Whoever is slow is measured all the same.
func remotes(own bool) func(context.Context, *stage, workload) ([]report.Result, error) {
	return func(ctx context.Context, st *stage, w workload) ([]report.Result, error) {
		return st.remotes(ctx, w, own)
	}
}

func (st *stage) remotes(ctx context.Context, w workload, own bool) (results []report.Result, err error) {
	o := st.o
	defer func() { st.o = o }()
	st.o.longest, st.o.Turns = 24*time.Hour, o.pushes
	d, err := openDepot(ctx, st)
	if err != nil {
		return nil, err
	}
	defer d.stop()
	var list []*keeper
	for _, c := range st.chosen {
		if c.keeps == nil {
			continue
		}
		k, err := st.keeper(ctx, c, d, own)
		if err != nil {
			return nil, err
		}
		defer k.leave(ctx, k.lane.env)
		k.lane.env = append(k.lane.env, d.env...)
		if k.own {
			k.lane.env = append(k.lane.env, "RESTIC_PASSWORD=")
		}
		list = append(list, k)
	}
	for _, of := range st.keepings() {
		var ways []way
		for _, k := range list {
			ways = append(ways, k.ways(of)...)
		}
		if of.verb == "turns" {
			st.o.Rounds = st.o.Turns
		}
		one := w
		one.name, one.about = w.name+", "+of.verb, of.about
		lines, err := measure(ctx, st, one.name, ways)
		for i := range lines {
			if ways[i].grown != nil {
				lines[i].Growth = *ways[i].grown
			}
		}
		one.name = w.name
		for _, r := range one.result(st, of.changed, lines) {
			r.Verb, r.Place = of.verb, d.kind
			results = append(results, r)
		}
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// keeper makes that of a contender, in its lane.
func (st *stage) keeper(ctx context.Context, c contender, d *depot, own bool) (*keeper, error) {
	l, err := st.lane(ctx, c)
	if err != nil {
		return nil, err
	}
	elsewhere := filepath.Join(st.dir, "elsewhere", c.key)
	k := &keeper{keeps: c.keeps(own), lane: l, url: d.url + "/" + c.key, target: filepath.Join(elsewhere, "tree"), home: filepath.Join(elsewhere, "home")}
	l.repository, l.counts = filepath.Join(d.dir, c.key), d.asked
	s := script{ctx: ctx, l: l} // what is ignored is not recorded by all
	s.git("reset", "-q", "--hard")
	s.git("clean", "-ffdxq")
	return k, s.err
}

// leave gives the lane back to the other workloads, with the environment that it had.
func (k *keeper) leave(ctx context.Context, env []string) {
	l := k.lane
	l.env, l.repository, l.counts = env, "", nil
	_, _ = l.forget(ctx), l.clean(ctx) // the next workload begins with the same
	l.primed = false
}

// ways are those of a keeper: with what is recorded before a push it has one more.
func (k *keeper) ways(of keeping) (ways []way) {
	for _, whole := range []bool{false, true} {
		if of.whole != whole && (of.whole || k.record == nil) {
			continue
		}
		one := of.way(k, whole)
		one.name, one.lane, one.ours = k.lane.contender.name, k.lane, k.lane.contender.ours()
		if k.record != nil && !of.whole {
			one.name += map[bool]string{false: ", push", true: ", snapshot and push"}[whole]
		}
		ways = append(ways, one)
	}
	return ways
}

// do runs commands of the keeper.
func (k *keeper) do(ctx context.Context, steps ...func(s *script)) error {
	s := script{ctx: ctx, l: k.lane}
	for _, step := range steps {
		if step != nil && s.err == nil {
			step(&s)
		}
	}
	return s.err
}

// fresh makes a repository with nothing in it, of which nothing is known.
func (k *keeper) fresh(ctx context.Context) error {
	k.kept = false
	if err := firstError(k.lane.forget(ctx), removeAll(k.lane.repository)); err != nil {
		return err
	}
	return k.do(ctx, func(s *script) { k.begin(s, k.url) })
}

// bring records what is there, if that is meant, and pushes it.
func (k *keeper) bring(ctx context.Context, whole bool) error {
	err := k.do(ctx, map[bool]func(*script){true: k.record}[whole], func(s *script) { k.push(s, k.url) })
	k.kept = k.kept || err == nil
	return err
}

// recorded does so before a push of which it is no part.
func (k *keeper) recorded(ctx context.Context, whole bool) error {
	if whole {
		return nil
	}
	return k.do(ctx, k.record)
}

// first is the way of a first push.
func (k *keeper) first(whole bool) way {
	return way{
		before: func(ctx context.Context) error { return firstError(k.fresh(ctx), k.recorded(ctx, whole)) },
		act:    func(ctx context.Context) error { return k.bring(ctx, whole) },
		after:  func(context.Context) error { return nil },
		prove:  k.comesBack,
	}
}

// turn is the way of a push after one file was edited.
func (k *keeper) turn(whole bool) way {
	w := k.first(whole)
	w.before = func(ctx context.Context) error {
		if err := k.ready(ctx); err != nil {
			return err
		}
		_, err := edit(ctx, k.lane, 1)
		return firstError(err, k.recorded(ctx, whole))
	}
	return w
}

// ready makes sure that something was brought.
func (k *keeper) ready(ctx context.Context) error {
	if k.kept {
		return nil
	}
	return firstError(k.fresh(ctx), k.bring(ctx, true))
}

// back is the way of a resume.
func (k *keeper) back(bool) way {
	return way{
		before: func(ctx context.Context) error { return firstError(k.ready(ctx), k.emptied()) },
		act:    k.resumed,
		after:  func(context.Context) error { return firstError(k.compared(), k.emptied()) },
		prove:  func(context.Context) error { return nil }, // each was compared
	}
}

// emptied makes the machine that resumes one that knows nothing.
func (k *keeper) emptied() error {
	return firstError(removeAll(filepath.Dir(k.target)), os.MkdirAll(k.target, 0o755), os.MkdirAll(k.home, 0o700))
}

func (k *keeper) resumed(ctx context.Context) error {
	return k.do(ctx, func(s *script) { k.resume(s, k.url, k.target, k.home) })
}

// compared says whether the directory of a resume is what the lane has.
func (k *keeper) compared() error {
	want, err := takePicture(k.lane.tree, k.lane.read)
	if err != nil {
		return err
	}
	return want.differs(k.target, nil)
}

// comesBack checks that what was brought last comes back.
func (k *keeper) comesBack(ctx context.Context) error {
	return firstError(k.emptied(), k.resumed(ctx), k.compared(), k.emptied())
}

// scripted is the way of an agent whose turns are recorded and brought, each.
func (k *keeper) scripted(o Options) way {
	a := &agent{lane: k.lane, o: o}
	w := k.first(true)
	w.before = func(ctx context.Context) error {
		if a.turn == 0 {
			if err := firstError(k.lane.clean(ctx), k.fresh(ctx)); err != nil {
				return err
			}
		}
		_, err := a.work()
		return err
	}
	w.after = func(context.Context) error {
		if !a.due() {
			return nil
		}
		return a.look()
	}
	w.grown = &a.growth
	return w
}
