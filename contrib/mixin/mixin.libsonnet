// SPDX-License-Identifier: Apache-2.0
// The dashboards, rules and alerts of perfcountd as a monitoring mixin (https://monitoring.mixins.dev), for jsonnet 0.18
// and newer. This file only imports those of ../grafana and ../prometheus (rules.json is rules.yml) under the names that
// mixin tools look for.
local rules = import 'rules.libsonnet';

{
  _config+:: {
    // The job that scrapes perfcountd, for the alert PerfcountdDown.
    job: 'perfcountd',
    // Also record the names of node_exporter and cAdvisor: see ../prometheus/compat.yml.
    compat: false,
  },

  grafanaDashboards+:: {
    'perfcountd-fleet.json': import '../grafana/fleet.json',
    'perfcountd-board.json': import '../grafana/board.json',
    'perfcountd-containers.json': import '../grafana/containers.json',
  },

  prometheusRules+:: {
    groups+: (import 'rules.json').groups +
             (if $._config.compat then rules.parse(importstr '../prometheus/compat.yml').groups else []),
  },

  prometheusAlerts+:: {
    groups+: rules.parse(std.strReplace(importstr '../prometheus/alerts.yml',
                                        'job="perfcountd"',
                                        'job="%s"' % $._config.job)).groups,
  },
}
