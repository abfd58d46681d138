package agent

import (
	"testing"
)

func TestMachineMakesAFewThingsMoreThanItHasCores(t *testing.T) {
	for cores, want := range map[int]int{1: 4, 2: 4, 16: 32} {
		if got := makeLimit(cores); got != want {
			t.Errorf("%d cores: %d, want %d", cores, got, want)
		}
	}
}
