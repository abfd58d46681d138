package manifest

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"nodal/node/manifest/rules"
)

var amountPattern = regexp.MustCompile(`^([+-]?[0-9]*[.,]?[0-9]+)\s*([A-Za-z]*)$`)

// notQuantity says what to write instead of a text that is no quantity. The last key of the path
// names the resource.
func notQuantity(path, text string) string {
	cpu := strings.HasSuffix(path, "[cpu]")
	remedy := "a number of bytes, such as 64M or 64Mi"
	switch {
	case cpu:
		remedy = "a number of CPUs, such as 0.5 or 500m"
	case strings.Contains(path[strings.LastIndexByte(path, '[')+1:], "/"):
		remedy = "a whole number, such as 2"
	}
	if m := amountPattern.FindStringSubmatch(text); m != nil {
		if meant := meantQuantities(strings.Replace(m[1], ",", ".", 1), strings.ToLower(m[2]), cpu); len(meant) > 0 {
			remedy = orList(meant)
		}
	}
	return fmt.Sprintf("%q is not a quantity; write %s", rules.Clip(text), remedy)
}

// meantQuantities returns the quantities that a number with a unit may mean.
func meantQuantities(number, unit string, cpu bool) []string {
	var suffixes []string
	switch {
	case cpu && strings.HasPrefix(unit, "m"):
		suffixes = []string{"m"}
	case cpu || unit == "" || strings.HasPrefix(unit, "b"):
		suffixes = []string{""}
	default:
		suffixes = byteSuffixes(unit)
	}
	var quantities []string
	for _, suffix := range suffixes {
		if _, err := resource.ParseQuantity(number + suffix); err == nil {
			quantities = append(quantities, number+suffix)
		}
	}
	return quantities
}

// byteSuffixes returns Kubernetes' suffixes for a unit such as mb, mib or megabytes.
func byteSuffixes(unit string) []string {
	letter := strings.ToUpper(unit[:1])
	if !strings.Contains("KMGTPE", letter) {
		return nil
	}
	binary, decimal := letter+"i", letter
	if letter == "K" {
		decimal = "k"
	}
	switch rest := unit[1:]; {
	case rest == "i", strings.HasPrefix(rest, "ib"), strings.HasPrefix(rest, "ebi"): // Mi, MiB, mebibytes
		return []string{binary}
	}
	return []string{decimal, binary}
}
