package report

import (
	"fmt"
	"math"
	"slices"
)

// doubt is how often an interval may miss what it is for: one time in twenty.
const doubt = 0.05

// leastRounds is how many values are needed before their order alone says
// where the median lies, as surely as doubt asks.
const leastRounds = 6

// An Interval is a median, and between what the true one lies: in nineteen runs
// of twenty, whatever the distribution. Of fewer than six values it is the
// least and the largest, and promises nothing.
type Interval struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// Median gives the median of values, of which there is at least one, with its
// interval. It lies between the k-th smallest and the k-th largest value unless
// fewer than k of all lie on one side of it, as often as so many of n tosses of a
// coin show heads: the sign test, turned round.
func Median(values []float64) Interval {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	k := max(rank(n), 1)
	return Interval{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Low: sorted[k-1], High: sorted[n-k]}
}

// rank is the largest k for which two tails of fewer than k heads in n tosses are
// together no likelier than doubt; 0 if there is none.
func rank(n int) int {
	tail, k := 0.0, 0
	for {
		logs, _ := math.Lgamma(float64(n + 1))
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		tail += math.Exp(logs - a - b - float64(n)*math.Ln2)
		if 2*tail > doubt || k == n {
			return k
		}
		k++
	}
}

// quantile gives the value below which a share of the values lies.
func quantile(values []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	at := int(math.Ceil(share*float64(len(sorted)))) - 1
	return sorted[min(max(at, 0), len(sorted)-1)]
}

// Compare fills times and ratios. A ratio is taken within each round, where the
// machine was the same for all, and is given only if the rounds support one: if
// its interval excludes 1 and holds the ratio of the medians.
func (r *Result) Compare() {
	for i := range r.Lines {
		l := &r.Lines[i]
		if len(l.Seconds) == 0 {
			continue
		}
		l.Time = Median(l.Seconds)
		if base := r.Lines[0]; i > 0 && len(base.Seconds) > 0 {
			l.Ratio, l.NoRatio = ratio(l.Seconds, base.Seconds)
		}
	}
}

// ratio compares what was measured in the same rounds, or says why it does not.
func ratio(seconds, base []float64) (*Interval, string) {
	n := min(len(seconds), len(base))
	if n < leastRounds {
		return nil, fmt.Sprintf("fewer than %d rounds", leastRounds)
	}
	var within []float64
	for i := range n {
		within = append(within, seconds[i]/base[i])
	}
	got := Median(within)
	medians := Median(seconds[:n]).Median / Median(base[:n]).Median
	switch {
	case got.Low <= 1 && got.High >= 1:
		return nil, "no difference that the noise does not explain"
	case medians < got.Low || medians > got.High:
		return nil, "within the rounds another one than between the medians"
	}
	return &got, ""
}

// medianBytes is the median of sizes, 0 if there are none.
func medianBytes(sizes []int64) int64 {
	if len(sizes) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(sizes))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// beyond gives what the store grew by for each turn, and how much of that is
// beyond the changed content; ok is false if it was not looked at twice.
func (l Line) beyond() (each, beyond float64, ok bool) {
	if len(l.Growth) < 2 {
		return 0, 0, false
	}
	first, last := l.Growth[0], l.Growth[len(l.Growth)-1]
	turns := float64(last.Turn - first.Turn)
	each = float64(last.Stored-first.Stored) / turns
	return each, each - float64(last.Content-first.Content)/turns, true
}
