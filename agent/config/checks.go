package config

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// A check finds the faults of one value. An optional field is passed as its value.
type check func(path *field.Path, value reflect.Value) field.ErrorList

// checkEach runs the check of each setting.
func checkEach(k *kubelet.KubeletConfiguration) (errs field.ErrorList) {
	settings := fieldSettings()
	for path, value := range fields(k) {
		if s := settings[path]; s.check != nil {
			errs = append(errs, s.check(field.NewPath(path), reflect.Indirect(value))...)
		}
	}
	return errs
}

// invalid returns the fault of a value, or none if the value is good.
func invalid(good bool, path *field.Path, value any, rule string) field.ErrorList {
	if good {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, rule)}
}

// between allows whole numbers from low to high.
func between(low, high int64) check {
	return func(path *field.Path, value reflect.Value) field.ErrorList {
		n := value.Int()
		return invalid(low <= n && n <= high, path, n, fmt.Sprintf("must be between %d and %d", low, high))
	}
}

// oneOf allows some words. The empty word means not set, and is not suggested.
func oneOf(words ...string) check {
	return func(path *field.Path, value reflect.Value) field.ErrorList {
		if slices.Contains(words, value.String()) {
			return nil
		}
		known := slices.DeleteFunc(slices.Clone(words), func(word string) bool { return word == "" })
		return field.ErrorList{field.NotSupported(path, value.String(), known)}
	}
}

// positive allows durations above zero.
func positive(path *field.Path, value reflect.Value) field.ErrorList {
	d := duration(value)
	return invalid(d > 0, path, d.String(), "must be greater than 0")
}

// atLeast allows durations from low on.
func atLeast(low string) check {
	least := parsed(low)
	return func(path *field.Path, value reflect.Value) field.ErrorList {
		d := duration(value)
		return invalid(d >= least, path, d.String(), "must be at least "+low)
	}
}

// within allows durations from low to high.
func within(low, high string) check {
	least, most := parsed(low), parsed(high)
	return func(path *field.Path, value reflect.Value) field.ErrorList {
		d := duration(value)
		return invalid(least <= d && d <= most, path, d.String(), "must be between "+low+" and "+high)
	}
}

func duration(value reflect.Value) time.Duration { return value.Interface().(metav1.Duration).Duration }

// parsed returns a duration that the table spells as --help does: 300s.
func parsed(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// address allows IP addresses.
func address(path *field.Path, value reflect.Value) field.ErrorList {
	_, err := netip.ParseAddr(value.String())
	return invalid(err == nil, path, value.String(), "must be an IP address")
}

// addresses allows lists of IP addresses.
func addresses(path *field.Path, value reflect.Value) (errs field.ErrorList) {
	for i := range value.Len() {
		errs = append(errs, address(path.Index(i), value.Index(i))...)
	}
	return errs
}

// endpoint allows unix:///path, the bare /path of older command lines, and none.
func endpoint(path *field.Path, value reflect.Value) field.ErrorList {
	text := value.String()
	good := text == "" || filepath.IsAbs(strings.TrimPrefix(text, "unix://"))
	return invalid(good, path, text, "must be unix:// with an absolute path")
}

// absolute allows absolute paths.
func absolute(path *field.Path, value reflect.Value) field.ErrorList {
	return invalid(filepath.IsAbs(value.String()), path, value.String(), "must be an absolute path")
}

// quantity allows amounts, such as 10Mi.
func quantity(path *field.Path, value reflect.Value) field.ErrorList {
	if _, err := resource.ParseQuantity(value.String()); err != nil {
		return field.ErrorList{field.Invalid(path, value.String(), err.Error())}
	}
	return nil
}

// processes allows a number of processes, or -1 for no limit.
func processes(path *field.Path, value reflect.Value) field.ErrorList {
	return invalid(value.Int() != 0, path, value.Int(), "must be greater than 0, or -1 for no limit")
}
