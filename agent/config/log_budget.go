package config

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultLogBudget leaves room for the usual limits of a full node, and does not fill a small disk.
const defaultLogBudget = "10%,4Gi"

// LogBudget bounds what the logs of all containers take of the disk, those of deleted pods included: the less of the two.
type LogBudget struct {
	Percent int64 // of the capacity of the logs' file system
	Bytes   int64
}

// None reports whether no logs are kept beyond what each pod has.
func (b LogBudget) None() bool { return b.Percent == 0 || b.Bytes == 0 }

// Of returns the budget on a file system.
func (b LogBudget) Of(capacity int64) int64 { return min(capacity/100*b.Percent, b.Bytes) }

// parseLogBudget reads a share of the file system, a number of bytes, or both.
func parseLogBudget(text string) (LogBudget, error) {
	b := LogBudget{Percent: 100, Bytes: math.MaxInt64}
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if share, ok := strings.CutSuffix(part, "%"); ok {
			percent, err := strconv.ParseUint(share, 10, 32)
			if err != nil || percent > 100 {
				return b, errors.New("a share has to be 0% to 100%")
			}
			b.Percent = int64(percent)
			continue
		}
		amount, err := resource.ParseQuantity(part)
		if err != nil || amount.Sign() < 0 {
			return b, errors.New("must be a number of bytes such as 4Gi, a share of the file system such as 10%, or both")
		}
		b.Bytes = amount.Value()
	}
	return b, nil
}

func validateLogBudget(o *Options) field.ErrorList {
	if _, err := parseLogBudget(o.LogBudget); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath("--container-log-budget"), o.LogBudget, err.Error())}
	}
	return nil
}
