package spec

import (
	"errors"
	"slices"
	"testing"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

func TestExtrasOfAllContributorsAreJoinedInTheirOrder(t *testing.T) {
	contribute := func(path, cdi string) Contributor {
		return func(Run) (Extras, error) {
			return Extras{
				Mounts:      []*runtimeapi.Mount{{ContainerPath: path}},
				Devices:     []*runtimeapi.Device{{ContainerPath: path}},
				Annotations: map[string]string{"path": path},
				CDIDevices:  []string{cdi},
			}, nil
		}
	}
	got, err := Collect(Run{}, []Contributor{contribute("/a", "x"), contribute("/b", "y"), contribute("/c", "x")})
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for i := range got.Mounts {
		paths = append(paths, got.Mounts[i].ContainerPath, got.Devices[i].ContainerPath)
	}
	if want := []string{"/a", "/a", "/b", "/b", "/c", "/c"}; !slices.Equal(paths, want) {
		t.Errorf("got the mounts and devices %q, want %q", paths, want)
	}
	if want := []string{"x", "y"}; !slices.Equal(got.CDIDevices, want) || got.Annotations["path"] != "/c" {
		t.Errorf("got %q and %v, want each CDI device once and the last annotation", got.CDIDevices, got.Annotations)
	}
}

func TestContributorThatFailsFailsTheContainer(t *testing.T) {
	broken := errors.New("the device is gone")
	asked := false
	_, err := Collect(Run{}, []Contributor{
		func(Run) (Extras, error) { return Extras{}, broken },
		func(Run) (Extras, error) { asked = true; return Extras{}, nil },
	})
	if !errors.Is(err, broken) || asked {
		t.Errorf("got %v, the next one asked: %t, want the error at once", err, asked)
	}
}
