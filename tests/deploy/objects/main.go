// What the tests of deploy/ need of Kubernetes.
//
//	objects kustomize FOLDER   prints what Kustomize makes of a folder
//	objects check < YAML       decodes objects into the types of their projects,
//	                           and fails where a field or a kind is unknown, or
//	                           pods do what the level "restricted" forbids
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	gateway "github.com/envoyproxy/gateway/api/v1alpha1"
	contour "github.com/projectcontour/contour/apis/projectcontour/v1alpha1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	istio "istio.io/client-go/pkg/apis/networking/v1alpha3"
	apps "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(words []string) error {
	switch {
	case len(words) == 2 && words[0] == "kustomize":
		return kustomize(words[1])
	case len(words) == 1 && words[0] == "check":
		return check(os.Stdin)
	}
	return errors.New("usage: objects kustomize FOLDER | check < YAML")
}

func kustomize(folder string) error {
	made, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(
		filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	text, err := made.AsYaml()
	if err == nil {
		_, err = os.Stdout.Write(text)
	}
	return err
}

func check(input io.Reader) error {
	types := scheme.Scheme
	for _, add := range []func() error{
		func() error { return contour.AddToScheme(types) },
		func() error { return istio.AddToScheme(types) },
		func() error { return monitoring.AddToScheme(types) },
	} {
		if err := add(); err != nil {
			return err
		}
	}
	// Not an object of the cluster: a file in a ConfigMap.
	types.AddKnownTypes(gateway.GroupVersion, &gateway.EnvoyGateway{})
	serializer := json.NewSerializerWithOptions(json.DefaultMetaFactory, types,
		types, json.SerializerOptions{Yaml: true, Strict: true})
	var all error
	documents := yaml.NewYAMLReader(bufio.NewReader(input))
	for i := 1; ; i++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all
		}
		var object runtime.Object
		if err == nil {
			object, _, err = serializer.Decode(document, nil, nil)
		}
		if deployment, is := object.(*apps.Deployment); is && err == nil {
			err = checkPods(deployment)
		}
		if err != nil {
			all = errors.Join(all, fmt.Errorf("object %d: %w", i, err))
		}
	}
}

func checkPods(deployment *apps.Deployment) error {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return err
	}
	pod := &deployment.Spec.Template
	restricted := api.LevelVersion{
		Level: api.LevelRestricted, Version: api.LatestVersion()}
	found := policy.AggregateCheckResults(
		evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec))
	if !found.Allowed {
		return errors.New(found.ForbiddenDetail())
	}
	return nil
}
