package chance

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Pause waits for a random time: the moment of a strike is what is tested.
func Pause(ctx context.Context, random *rand.Rand, most time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(random.Int64N(int64(most)))):
	}
}

// Number returns the number in an environment variable, or otherwise if it is not set.
func Number(t testing.TB, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// Few returns the smaller of two amounts for a test that runs with -short, as make test does.
func Few(few, many int) int {
	if testing.Short() {
		return few
	}
	return many
}
