package node

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// everyAction has one action of each type.
var everyAction = []Action{
	SetUp{}, TearDown{}, RunSandbox{}, InspectSandbox{}, StopSandbox{}, ResizeSandbox{}, RemoveSandbox{}, EnsureImage{},
	CreateContainer{}, ResizeContainer{}, StartContainer{}, InspectContainer{},
	StopContainer{}, RemoveContainer{}, RunHook{}, SetTally{}, SetHealth{}, SetLost{}, AskRestart{},
	StartOver{}, SetTermination{}, SetHalted{}, SetResult{Status: &corev1.PodStatus{}}, Release{},
	RemoveFiles{Volume: &corev1.PersistentVolume{}}, ForgetVolume{Volume: &corev1.PersistentVolume{}},
	AskPlugin{}, AnswerPlugin{}, ForgetPlugin{}, ReadyDevices{},
	StageVolume{Volume: &corev1.PersistentVolume{}}, UnstageVolume{}, RepublishVolume{},
	ExpandVolume{Growth: VolumeGrowth{Volume: &corev1.PersistentVolume{}}}, PrepareClaims{}, UnprepareClaims{},
}

func TestEveryActionIsListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var declared, listed []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if method, ok := d.(*ast.FuncDecl); ok && method.Recv != nil && method.Name.Name == "Target" {
				declared = append(declared, method.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	for _, a := range everyAction {
		listed = append(listed, reflect.TypeOf(a).Name())
	}
	slices.Sort(declared)
	slices.Sort(listed)
	if !slices.Equal(listed, declared) {
		t.Errorf("the tests know the actions %v, and there are %v", listed, declared)
	}
}

func TestEveryActionSaysWhatItIsAbout(t *testing.T) {
	for _, a := range everyAction {
		name, filled := reflect.TypeOf(a).Name(), fill(a)
		about := filled.About()
		if about.Place == 0 || about.Nature == 0 {
			t.Errorf("%s has place %d and nature %d, want that it says where and how", name, about.Place, about.Nature)
		}
		if about.Nature.Makes() && about.Place != InRuntime {
			t.Errorf("%s makes something outside of the runtime", name)
		}
		if about.Ends && about.ID == "" {
			t.Errorf("%s ends something, and does not say what", name)
		}
		if filled.Target() == "" || filled.String() == "" {
			t.Errorf("%s has the target %q and reads as %q", name, filled.Target(), filled)
		}
		fields := reflect.ValueOf(filled)
		for field, got := range map[string]any{"Container": about.Container, "ID": about.ID, "Attempt": about.Attempt} {
			if value := fields.FieldByName(field); value.IsValid() && value.Interface() != got {
				t.Errorf("%s says %v of its %s, want %v", name, got, field, value)
			}
		}
		if fields.FieldByName("Attempt").IsValid() != about.Numbered {
			t.Errorf("%s is numbered: %t", name, about.Numbered)
		}
	}
}

// fill sets those fields of an action that say what it is about.
func fill(a Action) Action {
	filled := reflect.New(reflect.TypeOf(a)).Elem()
	filled.Set(reflect.ValueOf(a))
	for field, value := range map[string]any{"Container": "app", "ID": "c1", "Attempt": uint32(3)} {
		if f := filled.FieldByName(field); f.IsValid() {
			f.Set(reflect.ValueOf(value))
		}
	}
	return filled.Interface().(Action)
}

func TestAttemptInIsTheActionsOwnOrThatOfItsRun(t *testing.T) {
	got := &Observed{Containers: []Container{{ID: "c1", Attempt: 4}}}
	for _, c := range []struct {
		name   string
		action Action
		want   uint32
		known  bool
	}{
		{"a run that is to be made", CreateContainer{Container: "app", Attempt: 5}, 5, true},
		{"the first run", CreateContainer{Container: "app"}, 0, true},
		{"a run that is there", StopContainer{Container: "app", ID: "c1"}, 4, true},
		{"a run that is not there", StopContainer{Container: "app", ID: "c2"}, 0, false},
		{"an image of a container", EnsureImage{Container: "app", Attempt: 5}, 5, true},
		{"an image that is a volume", EnsureImage{Volume: "data"}, 0, false},
		{"no run", TearDown{Facility: Logs}, 0, false},
	} {
		if attempt, known := c.action.About().AttemptIn(got); attempt != c.want || known != c.known {
			t.Errorf("%s: got %d, %t, want %d, %t", c.name, attempt, known, c.want, c.known)
		}
	}
}
