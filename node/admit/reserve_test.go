package admit

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestLeft(t *testing.T) {
	list := func(pairs ...string) corev1.ResourceList {
		list := corev1.ResourceList{}
		for i := 0; i < len(pairs); i += 2 {
			list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
		}
		return list
	}
	machine := list("cpu", "4", "memory", "8Gi", "pods", "110")
	kube := func(pairs ...string) Reservation { return Reservation{"kubeReserved", list(pairs...)} }
	system := func(pairs ...string) Reservation { return Reservation{"systemReserved", list(pairs...)} }
	for _, c := range []struct {
		name         string
		reservations []Reservation
		want         corev1.ResourceList
		err          string // a part of it
	}{
		{"all of it", nil, machine, ""},
		{"what nobody reserves", []Reservation{kube("cpu", "500m"), system("cpu", "500m", "memory", "1Gi")},
			list("cpu", "3", "memory", "7Gi", "pods", "110"), ""},
		{"nothing at last", []Reservation{kube("cpu", "4")}, list("cpu", "0", "memory", "8Gi", "pods", "110"), ""},
		{"what the machine does not have is not reserved of it", []Reservation{kube("ephemeral-storage", "1Gi")}, machine, ""},
		{"one setting reserves too much", []Reservation{kube("memory", "9Gi"), system("cpu", "1")}, nil,
			"kubeReserved[memory]: 9Gi of memory exceeds the 8Gi of this machine"},
		{"two do together", []Reservation{kube("memory", "5Gi"), system("memory", "4Gi")}, nil, "kubeReserved[memory] + systemReserved[memory]: 9Gi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Left(machine, c.reservations...)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, %v; want an error with %q", got, err, c.err)
				}
				return
			}
			if err != nil || len(got) != len(c.want) {
				t.Fatalf("got %v, %v; want %v", got, err, c.want)
			}
			for name, want := range c.want {
				if has := got[name]; has.Cmp(want) != 0 {
					t.Errorf("%s: got %s, want %s", name, has.String(), want.String())
				}
			}
		})
	}
}
