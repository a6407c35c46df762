# A cluster on Google Cloud: one master, machines with GPUs, machines for tasks without slots, a bucket for checkpoints.
terraform {
  required_version = ">= 1.5"
  required_providers {
    google = { source = "hashicorp/google", version = "~> 6.0" }
    random = { source = "hashicorp/random", version = "~> 3.6" }
  }
}

locals {
  zone           = coalesce(var.zone, "${var.region}-b")
  further_labels = { for label in var.add_label : split("=", label)[0] => split("=", label)[1] }
  labels         = merge(local.further_labels, { determined_cluster = lower(var.cluster_id) })
  pools = {
    compute-pool = { type = var.compute_agent_instance_type, count = var.min_dynamic_agents, gpus = var.gpu_num, preemptible = var.preemptible }
    aux-pool     = { type = var.aux_agent_instance_type, count = var.aux_agents, gpus = 0, preemptible = false }
  }
  agents = merge([for pool, p in local.pools : { for i in range(p.count) : "${pool}-${i}" => merge(p, { pool = pool }) }]...)
}

provider "google" {
  project        = var.project_id
  region         = var.region
  zone           = local.zone
  credentials    = var.keypath == null ? null : file(var.keypath)
  default_labels = local.labels
}

resource "random_password" "agent_token" {
  length  = 40
  special = false
}

resource "random_id" "bucket" {
  byte_length = 4
}

resource "google_storage_bucket" "checkpoints" {
  name                        = "det-${lower(var.cluster_id)}-${random_id.bucket.hex}"
  location                    = var.region
  uniform_bucket_level_access = true
}

resource "google_service_account" "machine" {
  account_id = "det-${lower(var.cluster_id)}"
}

resource "google_storage_bucket_iam_member" "checkpoints" {
  bucket = google_storage_bucket.checkpoints.name
  role   = "roles/storage.objectAdmin"
  member = "serviceAccount:${google_service_account.machine.email}"
}

resource "google_compute_network" "cluster" {
  name                    = "${var.network}-${lower(var.cluster_id)}"
  auto_create_subnetworks = true
}

resource "google_compute_firewall" "master" {
  name          = "det-${lower(var.cluster_id)}-master"
  network       = google_compute_network.cluster.name
  source_ranges = [var.inbound_cidr]
  target_tags   = ["determined-master"]
  allow {
    protocol = "tcp"
    ports    = [tostring(var.port)]
  }
}

# Machines of the cluster reach each other: agents the master, and tasks on several machines each other.
resource "google_compute_firewall" "inside" {
  name        = "det-${lower(var.cluster_id)}-inside"
  network     = google_compute_network.cluster.name
  source_tags = ["determined-master", "determined-agent"]
  target_tags = ["determined-master", "determined-agent"]
  allow { protocol = "all" }
}

resource "google_compute_instance" "master" {
  name         = "det-${lower(var.cluster_id)}-master"
  machine_type = var.master_instance_type
  tags         = ["determined-master"]
  boot_disk {
    initialize_params {
      image = var.image
      size  = var.disk_size
      type  = var.disk_type
    }
  }
  network_interface {
    network = google_compute_network.cluster.name
    access_config {}
  }
  service_account {
    email  = google_service_account.machine.email
    scopes = ["cloud-platform"]
  }
  metadata_startup_script = templatefile("${path.module}/machine.sh.tftpl", {
    package_url = var.package_url
    program     = "determined-master"
    config = templatefile("${path.module}/master.yaml.tftpl", {
      cluster_id            = var.cluster_id
      bucket                = google_storage_bucket.checkpoints.name
      port                  = var.port
      agent_token           = random_password.agent_token.result
      initial_user_password = var.initial_user_password
      scheduler_type        = var.scheduler_type
    })
  })
}

resource "google_compute_instance" "agent" {
  for_each     = local.agents
  name         = "det-${lower(var.cluster_id)}-${each.key}"
  machine_type = each.value.type
  tags         = ["determined-agent"]
  boot_disk {
    initialize_params {
      image = var.image
      size  = var.disk_size
      type  = var.disk_type
    }
  }
  dynamic "guest_accelerator" {
    for_each = each.value.gpus > 0 ? [1] : []
    content {
      type  = var.gpu_type
      count = each.value.gpus
    }
  }
  scheduling {
    preemptible         = each.value.preemptible
    automatic_restart   = !each.value.preemptible
    on_host_maintenance = "TERMINATE"
  }
  network_interface {
    network = google_compute_network.cluster.name
    access_config {}
  }
  service_account {
    email  = google_service_account.machine.email
    scopes = ["cloud-platform"]
  }
  metadata_startup_script = templatefile("${path.module}/machine.sh.tftpl", {
    package_url = var.package_url
    program     = "determined-agent"
    config = yamlencode({
      master_host   = google_compute_instance.master.network_interface[0].network_ip
      master_port   = var.port
      agent_id      = each.key
      resource_pool = each.value.pool
      token         = random_password.agent_token.result
    })
  })
}
