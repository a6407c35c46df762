# A cluster on Amazon Web Services: one master, machines with GPUs, machines for tasks without slots, a bucket for checkpoints.
terraform {
  required_version = ">= 1.5"
  required_providers {
    aws    = { source = "hashicorp/aws", version = "~> 5.0" }
    random = { source = "hashicorp/random", version = "~> 3.6" }
  }
}

locals {
  further_tags = { for tag in var.add_tag : split("=", tag)[0] => join("=", slice(split("=", tag), 1, length(split("=", tag)))) }
  tags         = merge(local.further_tags, { determined_cluster = var.cluster_id })
  pools = {
    compute-pool = { type = var.compute_agent_instance_type, count = var.min_dynamic_agents, spot = var.spot }
    aux-pool     = { type = var.aux_agent_instance_type, count = var.aux_agents, spot = false }
  }
  agents = merge([for pool, p in local.pools : { for i in range(p.count) : "${pool}-${i}" => merge(p, { pool = pool }) }]...)
}

provider "aws" {
  region  = var.region
  profile = var.profile
  default_tags { tags = local.tags }
}

# Ubuntu with NVIDIA's driver, for all machines.
data "aws_ssm_parameter" "image" {
  name = "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id"
}

resource "random_password" "agent_token" {
  length  = 40
  special = false
}

resource "aws_s3_bucket" "checkpoints" {
  bucket_prefix = "det-${lower(var.cluster_id)}-"
  force_destroy = false
}

resource "aws_iam_role" "machine" {
  name_prefix = "det-${var.cluster_id}-"
  assume_role_policy = jsonencode({
    Version   = "2012-10-17"
    Statement = [{ Effect = "Allow", Action = "sts:AssumeRole", Principal = { Service = "ec2.amazonaws.com" } }]
  })
}

resource "aws_iam_role_policy" "checkpoints" {
  role = aws_iam_role.machine.id
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect   = "Allow"
      Action   = ["s3:ListBucket", "s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"]
      Resource = [aws_s3_bucket.checkpoints.arn, "${aws_s3_bucket.checkpoints.arn}/*"]
    }]
  })
}

resource "aws_iam_instance_profile" "machine" {
  name_prefix = "det-${var.cluster_id}-"
  role        = aws_iam_role.machine.name
}

resource "aws_security_group" "master" {
  name_prefix = "det-${var.cluster_id}-master-"
  ingress {
    description = "the API and agents"
    from_port   = 8080
    to_port     = 8080
    protocol    = "tcp"
    cidr_blocks = [var.inbound_cidr]
  }
  ingress {
    description     = "agents of this cluster"
    from_port       = 8080
    to_port         = 8080
    protocol        = "tcp"
    security_groups = [aws_security_group.agent.id]
  }
  ingress {
    description = "SSH"
    from_port   = 22
    to_port     = 22
    protocol    = "tcp"
    cidr_blocks = [var.inbound_cidr]
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

# Agents open no port to the world. Tasks on several machines talk to each other.
resource "aws_security_group" "agent" {
  name_prefix = "det-${var.cluster_id}-agent-"
  ingress {
    from_port = 0
    to_port   = 0
    protocol  = "-1"
    self      = true
  }
  egress {
    from_port   = 0
    to_port     = 0
    protocol    = "-1"
    cidr_blocks = ["0.0.0.0/0"]
  }
}

resource "aws_instance" "master" {
  ami                    = data.aws_ssm_parameter.image.value
  instance_type          = var.master_instance_type
  key_name               = var.keypair
  vpc_security_group_ids = [aws_security_group.master.id]
  iam_instance_profile   = aws_iam_instance_profile.machine.name
  root_block_device { volume_size = 200 }
  metadata_options { http_tokens = "required" }
  tags = { Name = "determined-master-${var.cluster_id}" }
  user_data = templatefile("${path.module}/machine.sh.tftpl", {
    package_url = var.package_url
    program     = "determined-master"
    config = templatefile("${path.module}/master.yaml.tftpl", {
      cluster_id            = var.cluster_id
      bucket                = aws_s3_bucket.checkpoints.id
      agent_token           = random_password.agent_token.result
      initial_user_password = var.initial_user_password
      scheduler_type        = var.scheduler_type
    })
  })
  lifecycle { ignore_changes = [ami] }
}

resource "aws_instance" "agent" {
  for_each               = local.agents
  ami                    = data.aws_ssm_parameter.image.value
  instance_type          = each.value.type
  key_name               = var.keypair
  vpc_security_group_ids = [aws_security_group.agent.id]
  iam_instance_profile   = aws_iam_instance_profile.machine.name
  root_block_device { volume_size = 200 }
  metadata_options { http_tokens = "required" }
  tags = { Name = "determined-agent-${var.cluster_id}-${each.key}" }
  dynamic "instance_market_options" {
    for_each = each.value.spot ? [1] : []
    content {
      market_type = "spot"
      spot_options { max_price = var.spot_max_price }
    }
  }
  user_data = templatefile("${path.module}/machine.sh.tftpl", {
    package_url = var.package_url
    program     = "determined-agent"
    config = yamlencode({
      master_host   = aws_instance.master.private_ip
      master_port   = 8080
      agent_id      = each.key
      resource_pool = each.value.pool
      token         = random_password.agent_token.result
    })
  })
  lifecycle { ignore_changes = [ami] }
}
