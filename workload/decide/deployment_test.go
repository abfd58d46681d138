package decide

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"nodal/node"
	"nodal/node/manifest"
)

func deploymentOf(name, image string, replicas int32, change ...func(*appsv1.DeploymentSpec)) *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metaOf(name), Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: app(name)}, Template: templateOf(name),
		RevisionHistoryLimit: new(int32(10)), ProgressDeadlineSeconds: new(int32(600)),
		Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
			MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
		}},
	}}
	d.Spec.Template.Spec.Containers[0].Image = image
	for _, c := range change {
		c(&d.Spec)
	}
	return d
}

func recreated(spec *appsv1.DeploymentSpec) {
	spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
}

func (s *site) web() *appsv1.Deployment {
	return s.objects[node.ObjectRef{Kind: node.Deployment, Namespace: "default", Name: "web"}].(*appsv1.Deployment)
}

// images counts the active pods of each image.
func (s *site) images() map[string]int {
	all := map[string]int{}
	for _, p := range s.activePods() {
		all[p.Spec.Containers[0].Image]++
	}
	return all
}

func (s *site) sets() (all []*appsv1.ReplicaSet) { return s.look().ReplicaSets }

// reasons lists the conditions of the deployment.
func (s *site) reasons() string {
	var all []string
	for _, c := range s.web().Status.Conditions {
		all = append(all, string(c.Type)+"="+string(c.Status)+":"+c.Reason)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestADeploymentRunsItsTemplate(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 3))
	s.settle()
	sets := s.sets()
	if len(sets) != 1 || !strings.HasPrefix(sets[0].Name, "web-") || !ownedBy(sets[0], s.web().UID) {
		t.Fatalf("the sets are %v", sets)
	}
	mark := sets[0].Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	if sets[0].Name != "web-"+mark || sets[0].Spec.Selector.MatchLabels[appsv1.DefaultDeploymentUniqueLabelKey] != mark {
		t.Errorf("the set %s has the mark %s", sets[0].Name, mark)
	}
	status := s.web().Status
	if status.Replicas != 3 || status.UpdatedReplicas != 3 || status.ReadyReplicas != 3 || status.AvailableReplicas != 3 || status.UnavailableReplicas != 0 {
		t.Errorf("the status is %+v", status)
	}
	if got, want := s.reasons(), "Available=True:MinimumReplicasAvailable Progressing=True:NewReplicaSetAvailable"; got != want {
		t.Errorf("the conditions are %s, want %s", got, want)
	}
	if got := s.web().Annotations[node.NoteRevision] + sets[0].Annotations[node.NoteRevision]; got != "11" {
		t.Errorf("the revisions are %s", got)
	}
}

func TestARollingUpdateKeepsEnoughPods(t *testing.T) {
	for _, c := range []struct {
		name               string
		surge, unavailable intstr.IntOrString
		most, least        int
	}{
		{"one more", intstr.FromInt32(1), intstr.FromInt32(0), 5, 4},
		{"one less", intstr.FromInt32(0), intstr.FromInt32(1), 4, 3},
		{"a quarter of both", intstr.FromString("25%"), intstr.FromString("25%"), 5, 3},
		{"all at once", intstr.FromString("100%"), intstr.FromString("100%"), 8, 0},
		{"nothing to spare", intstr.FromString("0%"), intstr.FromString("0%"), 4, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			strategy := func(spec *appsv1.DeploymentSpec) {
				spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &c.surge, MaxUnavailable: &c.unavailable}
			}
			s.post(deploymentOf("web", "v1", 4, strategy))
			s.settle()
			s.post(deploymentOf("web", "v2", 4, strategy))
			for range 60 {
				s.round()
				well := len(where(s.activePods(), ready))
				if n := len(s.activePods()); n > c.most || well < c.least {
					t.Fatalf("%d pods, %d of them ready; want %d at most and %d at least", n, well, c.most, c.least)
				}
			}
			if got := s.images(); got["v2"] != 4 || len(got) != 1 {
				t.Errorf("at the end there are %v", got)
			}
			if got := s.web().Annotations[node.NoteRevision]; got != "2" {
				t.Errorf("the revision is %s", got)
			}
		})
	}
}

func TestARollbackTakesTheOldSetAgain(t *testing.T) {
	s := newSite(t)
	for _, image := range []string{"v1", "v2", "v1"} {
		s.post(deploymentOf("web", image, 2))
		s.settle()
	}
	if got := s.images(); got["v1"] != 2 || len(got) != 1 || len(s.sets()) != 2 {
		t.Errorf("there are %v of %d sets", got, len(s.sets()))
	}
	if got := s.web().Annotations[node.NoteRevision]; got != "3" {
		t.Errorf("the revision is %s, want 3", got)
	}
}

func TestRecreateHasAllOldPodsEndFirst(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 3, recreated))
	s.settle()
	s.post(deploymentOf("web", "v2", 3, recreated))
	for range 30 {
		s.round()
		images := map[string]bool{}
		for _, p := range s.pods {
			images[p.Spec.Containers[0].Image] = true
		}
		if len(images) > 1 {
			t.Fatalf("pods of %v side by side", images)
		}
	}
	if got := s.images(); got["v2"] != 3 {
		t.Errorf("at the end there are %v", got)
	}
}

func TestOldSetsGoBeyondTheHistory(t *testing.T) {
	s := newSite(t)
	for _, image := range []string{"v1", "v2", "v3", "v4"} {
		s.post(deploymentOf("web", image, 1, func(spec *appsv1.DeploymentSpec) { spec.RevisionHistoryLimit = new(int32(1)) }))
		s.settle()
	}
	var images []string
	for _, set := range s.sets() {
		images = append(images, set.Spec.Template.Spec.Containers[0].Image)
	}
	slices.Sort(images)
	if got := strings.Join(images, " "); got != "v3 v4" {
		t.Errorf("the sets are of %s, want v3 and v4", got)
	}
}

func TestAPausedDeploymentScalesAndDoesNotRoll(t *testing.T) {
	s := newSite(t)
	pause := func(spec *appsv1.DeploymentSpec) { spec.Paused = true }
	s.post(deploymentOf("web", "v1", 2))
	s.settle()
	s.post(deploymentOf("web", "v2", 4, pause))
	s.settle()
	if got := s.images(); got["v1"] != 4 || len(got) != 1 {
		t.Errorf("paused there are %v", got)
	}
	if !strings.Contains(s.reasons(), "Progressing=Unknown:DeploymentPaused") {
		t.Errorf("the conditions are %s", s.reasons())
	}
	s.post(deploymentOf("web", "v2", 4))
	s.settle()
	if got := s.images(); got["v2"] != 4 || len(got) != 1 {
		t.Errorf("resumed there are %v", got)
	}
}

func TestARolloutThatDoesNotMoveMissesItsDeadline(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 1))
	s.settle()
	s.post(deploymentOf("web", "v2", 1))
	stuck := func() Plan { // no pod becomes ready
		plan := Next(s.look())
		for _, c := range plan.Changes {
			s.take(c)
		}
		return plan
	}
	var last Plan
	for range 10 {
		last = stuck()
	}
	if len(last.Changes) > 0 || last.Again.IsZero() || !strings.Contains(s.reasons(), "Progressing=True") {
		t.Fatalf("the plan is %v, again at %s, with %s", last.Changes, last.Again, s.reasons())
	}
	s.now = last.Again
	stuck()
	if !strings.Contains(s.reasons(), "Progressing=False:ProgressDeadlineExceeded") {
		t.Errorf("the conditions are %s", s.reasons())
	}
	s.settle() // it becomes ready after all
	if !strings.Contains(s.reasons(), "Progressing=True:NewReplicaSetAvailable") {
		t.Errorf("afterwards they are %s", s.reasons())
	}
}

func TestPodsCountAsAvailableAfterTheirTime(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 1, func(spec *appsv1.DeploymentSpec) { spec.MinReadySeconds = 30 }))
	s.settle()
	if got := s.web().Status; got.ReadyReplicas != 1 || got.AvailableReplicas != 0 {
		t.Fatalf("the status is %+v", got)
	}
	plan := Next(s.look())
	s.now = plan.Again
	s.settle()
	if got := s.web().Status; got.AvailableReplicas != 1 {
		t.Errorf("later it is %+v", got)
	}
}

func TestADeploymentThatGoesWaitsForItsSets(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 1))
	s.settle()
	at := metav1.NewTime(s.now)
	for _, v := range s.objects {
		v.SetDeletionTimestamp(&at)
	}
	s.settle()
	if len(s.objects) != 2 {
		t.Fatalf("%d objects while the pod is there", len(s.objects))
	}
	clear(s.pods)
	s.settle()
	if len(s.objects) != 0 {
		t.Errorf("%d objects afterwards", len(s.objects))
	}
}

func TestNoCrashLosesWhatADeploymentPromises(t *testing.T) {
	for seed := range uint64(25) {
		random := rand.New(rand.NewPCG(seed, 2))
		s := newSite(t)
		s.post(deploymentOf("web", "v0", 3))
		s.settle()
		for _, image := range []string{"v1", "v2"} {
			s.post(deploymentOf("web", image, 3))
			s.chaos(random, func() {
				if n := len(s.activePods()); n > 4 {
					t.Fatalf("seed %d: %d pods", seed, n)
				}
			})
		}
		for range 20 { // pods that failed last have their pause
			s.settle()
			s.now = s.now.Add(10 * time.Second)
		}
		if got := s.images(); got["v2"] != 3 || len(got) != 1 || s.web().Status.AvailableReplicas != 3 {
			t.Fatalf("seed %d ends with %v and %+v", seed, got, s.web().Status)
		}
		marks := map[string]bool{}
		for _, set := range s.sets() {
			marks[set.Spec.Template.Spec.Containers[0].Image] = true
		}
		if len(marks) != len(s.sets()) {
			t.Fatalf("seed %d: %d sets of %d templates", seed, len(s.sets()), len(marks))
		}
	}
}

func TestASetThatIsNotKnownAgainIsNotMadeForEver(t *testing.T) {
	const mark = appsv1.DefaultDeploymentUniqueLabelKey
	selected := func(spec *appsv1.DeploymentSpec) {
		spec.Selector.MatchLabels[mark], spec.Template.Labels[mark] = "x", "x"
	}
	for _, c := range []struct {
		name    string
		change  func(*appsv1.DeploymentSpec)
		becomes string // what the node makes of the image of a set
		most    int
	}{
		{"it is not selected", selected, "v1", 0},
		{"the node changes its template", func(*appsv1.DeploymentSpec) {}, "v1-changed", mostTries},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			s.post(deploymentOf("web", "v1", 1, c.change))
			for range 50 {
				s.round()
				for _, set := range s.sets() {
					s.set(set.Name).Spec.Template.Spec.Containers[0].Image = c.becomes
				}
			}
			if n := len(s.sets()); n > c.most || !strings.Contains(s.reasons(), "Progressing=False:ReplicaSetCreateError") {
				t.Errorf("%d sets with %s", n, s.reasons())
			}
			s.settle()
		})
	}
}

func TestTheMarkOfASetInATemplateIsWrittenOver(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 1, func(spec *appsv1.DeploymentSpec) {
		spec.Template.Labels[appsv1.DefaultDeploymentUniqueLabelKey] = "x"
	}))
	s.settle()
	if sets := s.sets(); len(sets) != 1 || len(s.activePods()) != 1 || sets[0].Labels[appsv1.DefaultDeploymentUniqueLabelKey] == "x" {
		t.Errorf("the sets are %v", sets)
	}
}

func TestADefaultThatAnEarlierVersionDidNotKnowMakesNoSet(t *testing.T) {
	s := newSite(t)
	s.post(deploymentOf("web", "v1", 1))
	s.settle()
	next := deploymentOf("web", "v1", 1)
	manifest.DefaultTemplate(&next.Spec.Template)
	s.post(next)
	s.settle()
	s.post(deploymentOf("web", "v1", 1)) // as it is the other way round
	s.settle()
	if sets := s.sets(); len(sets) != 1 {
		t.Errorf("there are %d sets", len(sets))
	}
}
