package report

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestRatiosAreTakenWithinRounds(t *testing.T) {
	r := Result{Lines: []Line{{Seconds: []float64{1, 10, 1, 1, 1, 1, 1}}, {Seconds: []float64{2, 20, 3, 2, 2, 2, 1.8}}}}
	r.Compare()
	if got := r.Lines[1].Ratio; got == nil || got.Median != 2 || got.Low != 1.8 || got.High != 3 {
		t.Errorf("%+v, %s", got, r.Lines[1].NoRatio)
	}
	if got := r.Lines[1].Time; got.Median != 2 {
		t.Errorf("%+v", got)
	}
}

func TestARatioThatNothingSupportsIsNotGiven(t *testing.T) {
	for name, l := range map[string][2][]float64{
		"too few rounds":                   {{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}},
		"one round says the opposite":      {{1, 1, 1, 1, 1, 1, 3}, {2, 2, 2, 2, 2, 2, 2}},
		"the medians say something else":   {{1, 1, 1, 1, 50, 100, 100, 100, 100}, {2, 2, 2, 2, 60, 200, 200, 200, 200}},
		"the same":                         {{1, 1, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}},
		"the first line was not measured":  {nil, {1, 1, 1, 1, 1, 1, 1}},
		"as many rounds say yes as say no": {{1, 2, 1, 2, 1, 2, 1, 2}, {2, 1, 2, 1, 2, 1, 2, 1}},
	} {
		r := Result{Lines: []Line{{Seconds: l[0]}, {Seconds: l[1]}}}
		r.Compare()
		if got := r.Lines[1].Ratio; got != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestAnIntervalHoldsTheMedianAsOftenAsItSays(t *testing.T) {
	const runs = 4000
	for _, n := range []int{6, 7, 9, 20, 50} {
		random, missed := rand.New(rand.NewPCG(1, uint64(n))), 0
		for range runs {
			var values []float64
			for range n {
				values = append(values, math.Pow(random.ExpFloat64(), 3)) // a long tail
			}
			if got, is := Median(values), math.Pow(math.Ln2, 3); got.Low > is || got.High < is {
				missed++
			}
		}
		if missed > runs*6/100 {
			t.Errorf("%d values: missed %d times of %d", n, missed, runs)
		}
	}
	if k := [...]int{rank(5), rank(6), rank(7), rank(9), rank(100)}; k != [...]int{0, 1, 1, 2, 40} {
		t.Errorf("ranks %v", k)
	}
}
